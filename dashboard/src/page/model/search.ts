export function isMatch(name: string, text: string): boolean {
  const lower = name.toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word));
}

export function found(names: readonly string[], text: string, most: number): number[] {
  const positions: number[] = [];
  if (text.trim() === "") return positions;
  for (const [index, name] of names.entries()) {
    if (positions.length === most) break;
    if (isMatch(name, text)) positions.push(index);
  }
  return positions;
}
