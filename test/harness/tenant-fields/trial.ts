// A field that tenants can write, with amounts of it that a real reader is given.

/** Answer of a reader to an amount. */
export interface Outcome {
  /** Whether less than all was taken. */
  readonly isCut: boolean;
  /** Message or metric that tells people of the cut; null: nothing was cut, or nothing tells of it. */
  readonly named: string | null;
  /** Objects that were read, which are in memory whatever the reader does. */
  readonly input?: unknown;
  /** Value that the reader keeps in memory. */
  kept?: unknown;
}

/** Gives a reader so much of the field. Amounts are in the unit of the table. */
export type Trial = (amount: number) => Outcome | Promise<Outcome>;

/** Readers that run for a while. */
export interface Trials {
  readonly trials: Readonly<Record<string, Trial>>;
  readonly stop?: () => Promise<void>;
}

/** A line of the table. */
interface FieldLine {
  readonly field: string;
  readonly bound: number;
  readonly beyond: string;
}

const BEGIN = "## Fields that tenants write";
const UNITS: Readonly<Record<string, number>> = { KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };
const BOUND = /^([\d,.]+(?:e\d+)?)(?: (\S+))?/;

/** Lines of the table in the document. @throws Error for a bound without a number */
export function fieldLines(document: string): readonly FieldLine[] {
  const [, section = ""] = document.split(`${BEGIN}\n`);
  const [table = ""] = section.split("\n## ");
  return table
    .split("\n")
    .filter((line) => line.startsWith("| ") && !/^\| (?:field|-)/.test(line))
    .map((line) => {
      const [field = "", bound = "", beyond = ""] = line
        .slice(1, -1)
        .split(" | ")
        .map((cell) => cell.trim());
      const [, number, unit = ""] = BOUND.exec(bound) ?? [];
      if (number === undefined)
        throw new Error(`${field} must have a bound that begins with a number, got ${bound}`);
      return { field, bound: Number(number.replaceAll(",", "")) * (UNITS[unit] ?? 1), beyond };
    });
}

/** A text of so many characters. */
export function textOf(length: number, before = "", after = ""): string {
  return before + "x".repeat(Math.max(0, length - before.length - after.length)) + after;
}
