export type Terms = readonly (readonly [coefficient: number, variable: string])[];

/** Some readers refuse longer lines. */
const TERMS_PER_LINE = 8;

/** A minimization in CPLEX LP format. */
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

  /** Bounds a variable to 0..`most`; others are binary or nonnegative. */
  upTo(variable: string, most: number): void {
    this.#bounds.push(` 0 <= ${variable} <= ${most}`);
  }

  /** An empty row is dropped if true, else makes the program infeasible. */
  row(terms: Terms, relation: "<=" | ">=" | "=", right: number): void {
    const kept = terms.filter(([coefficient]) => coefficient !== 0);
    const fine = relation === "<=" ? right >= 0 : relation === ">=" ? right <= 0 : right === 0;
    if (kept.length === 0 && fine) return;
    const left = kept.length === 0 ? " + 0 never" : written(kept);
    this.#rows.push(` r${this.#rows.length}:${left} ${relation} ${right}`);
  }

  text(): string {
    const objective = this.#objective.length === 0 ? " + 0 never" : written(this.#objective);
    // Always 0, so that objective and rows are never empty.
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

export interface LinearSolution {
  readonly status: "optimal" | "infeasible" | "unfinished";
  /** Values by variable name; omitted ones are 0. */
  readonly values: ReadonlyMap<string, number>;
  /** Lower bound of the objective. */
  readonly bound: number;
}

export type LinearSolver = (program: string, timeMs: number) => Promise<LinearSolution>;
