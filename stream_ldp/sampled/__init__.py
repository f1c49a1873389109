"""Collections whose users each answer one question: frequencies of values, and means of numbers."""
