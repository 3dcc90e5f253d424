export interface SolveRequest {
  readonly id: number;
  readonly program: string;
  readonly timeMs: number;
}

export type SolveAnswer =
  | {
      readonly id: number;
      readonly status: "optimal" | "infeasible" | "unfinished";
      readonly values: ReadonlyMap<string, number>;
      readonly objective: number;
    }
  | { readonly id: number; readonly failure: string };
