interface Candidate {
  readonly namespace: string;
  readonly kind: "add" | "remove";
  readonly perSecond: number;
  readonly memoryBytes: number | null;
}

const MEMORY_BYTES = 128 * 2 ** 20;

/**
 * Up to `most` changes: additions by gain per memory, then removals by least loss. A namespace gets at most
 * half of them, unless others leave some.
 */
export function chosenChanges<C extends Candidate>(candidates: readonly C[], most: number): C[] {
  const worth = ({ perSecond, memoryBytes }: Candidate): number =>
    perSecond / Math.max(memoryBytes ?? MEMORY_BYTES, MEMORY_BYTES / 8);
  const adds = candidates.filter(({ kind }) => kind === "add").sort((a, b) => worth(b) - worth(a));
  const removes = candidates
    .filter(({ kind }) => kind === "remove")
    .sort((a, b) => a.perSecond - b.perSecond);
  const part = Math.ceil(most / 2);
  const counts = new Map<string, number>();
  const [first, rest]: [C[], C[]] = [[], []];
  for (const each of [...adds, ...removes]) {
    const count = counts.get(each.namespace) ?? 0;
    counts.set(each.namespace, count + 1);
    (count < part ? first : rest).push(each);
  }
  return [...first, ...rest].slice(0, most);
}
