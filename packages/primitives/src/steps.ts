export function allSteps<T>(steps: Generator<void, T>): T {
  for (let step = steps.next(); ; step = steps.next()) if (step.done === true) return step.value;
}

/** Runs all steps; awaits `turn` after each if it returns a promise. */
export async function inTurns<T>(steps: Generator<void, T>, turn: () => Promise<void> | null): Promise<T> {
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done === true) return step.value;
    const wait = turn();
    if (wait !== null) await wait;
  }
}

/** Items per step: some milliseconds of work. */
const ITEMS_PER_STEP = 4096;

export function* sortedSteps<T>(items: readonly T[], compare: (a: T, b: T) => number): Generator<void, T[]> {
  let runs: T[][] = [];
  for (let from = 0; from < items.length; from += ITEMS_PER_STEP) {
    runs.push(items.slice(from, from + ITEMS_PER_STEP).sort(compare));
    yield;
  }
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (let at = 0; at < runs.length; at += 2)
      merged.push(yield* mergedSteps(runs[at]!, runs[at + 1] ?? [], compare));
    runs = merged;
  }
  return runs[0] ?? [];
}

function* mergedSteps<T>(
  a: readonly T[],
  b: readonly T[],
  compare: (a: T, b: T) => number,
): Generator<void, T[]> {
  const merged: T[] = [];
  let [atA, atB] = [0, 0];
  while (atA < a.length || atB < b.length) {
    const isA = atB >= b.length || (atA < a.length && compare(a[atA]!, b[atB]!) <= 0);
    merged.push(isA ? a[atA++]! : b[atB++]!);
    if (merged.length % ITEMS_PER_STEP === 0) yield;
  }
  return merged;
}
