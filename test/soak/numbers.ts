/**
 * Reads a number of a command line; throws an Error that names option, rule and value, and how the command is
 * used.
 */
export function numberOption(name: string, text: string, min: number, max: number, usage: string): number {
  const value = Number(text);
  if (text.trim() !== "" && value >= min && value <= max) return value;
  throw new Error(`${name} must be a number from ${min} to ${max}, got "${text}"\n${usage}`);
}
