// A producer's record of the outcome of its numbers, in its own file. It is the oracle of the delivery test.
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";

/** Appends synchronously, so that lines survive a kill. */
export class LedgerWriter {
  readonly #file: number;

  constructor(path: string) {
    this.#file = openSync(path, "a");
  }

  acknowledged(numbers: readonly number[]): void {
    writeSync(this.#file, numbers.map((number) => `${number}\n`).join(""));
  }

  /** Publishers don't report the numbers. Dropped numbers are those that were never acknowledged. */
  dropped(reason: string, count: number): void {
    writeSync(this.#file, `dropped ${reason} ${count}\n`);
  }

  close(): void {
    closeSync(this.#file);
  }
}

export interface Ledger {
  readonly acknowledged: ReadonlySet<number>;
  readonly repeated: number;
  readonly dropped: Readonly<Record<string, number>>;
}

/** Throws for a line that a killed process left incomplete. */
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
