/** Parses a number from the command line. Throws an Error with option, rule, value and usage. */
export function numberOption(name: string, text: string, min: number, max: number, usage: string): number {
  const value = Number(text);
  if (text.trim() !== "" && value >= min && value <= max) return value;
  throw new Error(`${name} must be a number from ${min} to ${max}, got "${text}"\n${usage}`);
}
