"""Collections whose users each answer one question: what is asked, the answer that a user repeats, and its report."""
