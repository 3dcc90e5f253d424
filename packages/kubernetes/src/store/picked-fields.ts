export function pickedFields<T>(
  fields: Readonly<Record<string, T>>,
  names: readonly string[],
): Record<string, T> {
  const picked: Record<string, T> = {};
  for (const name of names) if (fields[name] !== undefined) picked[name] = fields[name];
  return picked;
}
