// What a producer says became of its numbers, in a file of its own that nobody else writes: the oracle of the
// delivery test.
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";

/** Appends; what was written stays when the process is killed. */
export class LedgerWriter {
  readonly #file: number;

  constructor(path: string) {
    this.#file = openSync(path, "a");
  }

  acknowledged(numbers: readonly number[]): void {
    writeSync(this.#file, numbers.map((number) => `${number}\n`).join(""));
  }

  /** Which ones is not told by a publisher: they are those that were never acknowledged. */
  dropped(reason: string, count: number): void {
    writeSync(this.#file, `dropped ${reason} ${count}\n`);
  }

  close(): void {
    closeSync(this.#file);
  }
}

/** What a ledger says. */
export interface Ledger {
  readonly acknowledged: ReadonlySet<number>;
  /** Numbers that were acknowledged more than once. */
  readonly repeated: number;
  /** By reason. */
  readonly dropped: Readonly<Record<string, number>>;
}

/** A line that a killed process left incomplete makes it throw. */
export function readLedger(path: string): Ledger {
  const acknowledged = new Set<number>();
  const dropped: Record<string, number> = {};
  let repeated = 0;
  for (const line of readFileSync(path, "utf8").split("\n").slice(0, -1)) {
    const [first, reason, count] = line.split(" ");
    if (first === "dropped") {
      dropped[reason!] = (dropped[reason!] ?? 0) + Number(count);
      continue;
    }
    const number = Number(line);
    if (!/^\d+$/.test(line)) throw new Error(`line of a ledger must be a number, got "${line}" in ${path}`);
    if (acknowledged.has(number)) repeated++;
    acknowledged.add(number);
  }
  return { acknowledged, repeated, dropped };
}
