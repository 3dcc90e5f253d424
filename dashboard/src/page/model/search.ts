// Nodes by a few letters of their names. Pure.

/** Whether a name has all the words of a text in it, in whatever case. */
export function isMatch(name: string, text: string): boolean {
  const lower = name.toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word));
}

/** Positions of the first names that match; none for an empty text. */
export function found(names: readonly string[], text: string, most: number): number[] {
  const positions: number[] = [];
  if (text.trim() === "") return positions;
  for (const [index, name] of names.entries()) {
    if (positions.length === most) break;
    if (isMatch(name, text)) positions.push(index);
  }
  return positions;
}
