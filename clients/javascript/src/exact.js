/** Numbers with more digits than a double has, as whole multiples of 2^-256: chances have to be the same everywhere. */

const BITS = 256n;
const ONE = 1n << BITS;

/** Halvings before a power series, which is short for what is left; so many digits are lost again by squaring. */
const HALVINGS = 16n;

/** Return a double as a multiple of 2^-256, rounded down. @param {number} number from 0 on @returns {bigint} */
export function exact(number) {
  let whole = number;
  let places = 0n;
  // Doubling a double is exact, until its last digit stands before the point.
  for (; !Number.isInteger(whole); whole *= 2) places++;
  return (BigInt(whole) << BITS) >> places;
}

/** Return e to a power, as a multiple of 2^-256. @param {number} power from 0 to 32 @returns {bigint} */
export function exp(power) {
  const small = exact(power) >> HALVINGS;
  let sum = 0n;
  for (let term = ONE, i = 1n; term > 0n; i++) {
    sum += term;
    term = (term * small) / (ONE * i);
  }
  for (let i = 0n; i < HALVINGS; i++) sum = (sum * sum) >> BITS;
  return sum;
}

/** Return a whole number as a multiple of 2^-256. @param {number} number @returns {bigint} */
export const whole = (number) => BigInt(number) << BITS;
