/** To the thread: a program in CPLEX LP format. */
export interface SolveRequest {
  readonly id: number;
  readonly program: string;
  readonly timeMs: number;
}

/** From the thread. */
export type SolveAnswer =
  | {
      readonly id: number;
      readonly status: "optimal" | "infeasible" | "unfinished";
      /** By variable. */
      readonly values: ReadonlyMap<string, number>;
      readonly objective: number;
    }
  | { readonly id: number; readonly failure: string };
