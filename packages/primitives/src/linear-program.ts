/** A linear expression: coefficient by variable. */
export type Terms = readonly (readonly [coefficient: number, variable: string])[];

/** Longer lines are refused by some readers of the format. */
const TERMS_PER_LINE = 8;

/** A minimisation, written in CPLEX LP format. */
export class LinearProgram {
  readonly #objective: [number, string][] = [];
  readonly #rows: string[] = [];
  readonly #binaries: string[] = [];
  readonly #bounds: string[] = [];

  cost(coefficient: number, variable: string): void {
    if (coefficient !== 0) this.#objective.push([coefficient, variable]);
  }

  binary(variable: string): void {
    this.#binaries.push(variable);
  }

  /** From 0 to `most`; variables that are neither binary nor bounded are from 0 to infinity. */
  upTo(variable: string, most: number): void {
    this.#bounds.push(` 0 <= ${variable} <= ${most}`);
  }

  /** A row without variables is left out when it is true, and makes the program infeasible when it isn't. */
  row(terms: Terms, relation: "<=" | ">=" | "=", right: number): void {
    const kept = terms.filter(([coefficient]) => coefficient !== 0);
    const fine = relation === "<=" ? right >= 0 : relation === ">=" ? right <= 0 : right === 0;
    if (kept.length === 0 && fine) return;
    const left = kept.length === 0 ? " + 0 never" : written(kept);
    this.#rows.push(` r${this.#rows.length}:${left} ${relation} ${right}`);
  }

  text(): string {
    const objective = this.#objective.length === 0 ? " + 0 never" : written(this.#objective);
    // A column that is always 0, so that neither objective nor rows are ever empty.
    const bounds = [" never = 0", ...this.#bounds];
    return [
      "Minimize",
      ` cost:${objective}`,
      "Subject To",
      ...this.#rows,
      "Bounds",
      ...bounds,
      ...(this.#binaries.length === 0 ? [] : ["Binaries", ...this.#binaries.map((name) => ` ${name}`)]),
      "End",
      "",
    ].join("\n");
  }
}

function written(terms: Terms): string {
  let text = "";
  for (const [at, [coefficient, variable]] of terms.entries()) {
    if (at > 0 && at % TERMS_PER_LINE === 0) text += "\n ";
    text += ` ${coefficient < 0 ? "-" : "+"} ${Math.abs(coefficient)} ${variable}`;
  }
  return text;
}

/** What a solver of linear programs with integers says. */
export interface LinearSolution {
  readonly status: "optimal" | "infeasible" | "unfinished";
  /** By name; of variables that aren't named the value is 0. */
  readonly values: ReadonlyMap<string, number>;
  /** No solution has a smaller objective. */
  readonly bound: number;
}

/** Takes a program in CPLEX LP format, and how long it may take. */
export type LinearSolver = (program: string, timeMs: number) => Promise<LinearSolution>;
