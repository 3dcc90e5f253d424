import { keysOf } from "@isochrone/primitives";
import {
  chosenContenders,
  contenderDeps,
  folderOf,
  refuse,
  type ConductDeps,
  type ConductOptions,
  type Experiment,
  type Verdict,
} from "../frame/experiment.ts";
import { meanOf } from "../frame/figures.ts";
import { plainRows } from "../frame/rows.ts";
import { BILL_CONTENDERS, billCells, type BillContender, type BillResult } from "./cells.ts";
import { billReport, comparison } from "./report.ts";
import { readBillScenario } from "./scenario.ts";

const COLUMNS = [
  "contender",
  "trial",
  "perMonth",
  "meanMs",
  "p95Ms",
  "failedRatio",
  "moves",
  "hash",
] as const;

export function openBill(text: string, options: ConductOptions, deps: ConductDeps): Experiment {
  const { file, quick, grounds, signal } = options;
  const scenario = readBillScenario(text, file, quick);
  if (!grounds.includes("model")) refuse(file, "grounds must have model, got lab: the scenario has no lab");
  const contenders = chosenContenders(keysOf(BILL_CONTENDERS), options);
  return {
    name: scenario.name,
    folder: folderOf(scenario.name, options),
    async run(bench, about) {
      const cells = billCells({ scenario, contenders, deps: contenderDeps(deps), signal });
      const results = await bench.run("cells.jsonl", cells);
      return {
        cells: results.length,
        html: billReport({ scenario, contenders, results, ...about }),
        rows: plainRows(results, COLUMNS),
        json: { scenario, results },
        verdicts: verdictsOf(scenario.name, contenders, results),
      };
    },
  };
}

function verdictsOf(
  name: string,
  contenders: readonly BillContender[],
  results: readonly BillResult[],
): Verdict[] {
  if (!contenders.includes("money") || !contenders.includes("default")) return [];
  const paid = (id: BillContender): number => meanOf(results, null, id, "perMonth").mean;
  return [{ isHeld: paid("money") < paid("default"), text: `${name}: ${comparison(results, "money")}` }];
}
