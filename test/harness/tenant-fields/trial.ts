// Measures a real reader with different amounts of a tenant-writable field.

export interface Outcome {
  /** Whether the reader dropped a part. */
  readonly isCut: boolean;
  /** Message or metric that reports the drop. Null: nothing was dropped, or nothing reports it. */
  readonly named: string | null;
  /** The input objects, which occupy memory independently of the reader. */
  readonly input?: unknown;
  /** Value that the reader keeps in memory. */
  kept?: unknown;
}

/** Gives a reader this amount of the field, in the unit of the table. */
export type Trial = (amount: number) => Outcome | Promise<Outcome>;

export interface Trials {
  readonly trials: Readonly<Record<string, Trial>>;
  readonly stop?: () => Promise<void>;
}

interface FieldLine {
  readonly field: string;
  readonly bound: number;
  readonly beyond: string;
}

const BEGIN = "## Fields that tenants write";
const UNITS: Readonly<Record<string, number>> = { KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };
const BOUND = /^([\d,.]+(?:e\d+)?)(?: (\S+))?/;

/** Parses the table in the document. @throws Error for a limit without a number */
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

export function textOf(length: number, before = "", after = ""): string {
  return before + "x".repeat(Math.max(0, length - before.length - after.length)) + after;
}
