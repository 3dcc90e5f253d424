/** Cents; smaller amounts with two significant digits. */
export function money(value: number): string {
  const size = Math.abs(value);
  return size === 0 || size >= 0.1 ? value.toFixed(2) : value.toPrecision(2);
}
