// Which of all Services' wanted changes a frame makes.

/** A change that is wanted. */
interface Candidate {
  readonly namespace: string;
  readonly kind: "add" | "remove";
  /** Requests per second more in time, or fewer. */
  readonly perSecond: number;
  /** What a replica takes; null: nobody said. */
  readonly memoryBytes: number | null;
}

/** What a replica is taken to need whose memory nobody said. */
const MEMORY_BYTES = 128 * 2 ** 20;

/**
 * At most so many: first what brings most in time for its memory, then what is missed least. One namespace
 * has half of them at most, unless the others leave some over.
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
