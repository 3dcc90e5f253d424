import { openScenario, readHead, type ScenarioHead } from "../scenario/head.ts";
import { closeSheet } from "../scenario/sheet.ts";

export interface BillScenario extends ScenarioHead {
  readonly seed: number;
  /** Random workflows, the same for all contenders. */
  readonly trials: number;
  /** The traffic drifts between hours. */
  readonly hours: number;
  readonly hourSeconds: number;
  /** Each user sends one request per second. */
  readonly users: number;
}

const KEYS = [
  "kind",
  "title",
  "question",
  "source",
  "threats",
  "seed",
  "trials",
  "hours",
  "hourSeconds",
  "users",
  "quick",
];

export function readBillScenario(text: string, file: string, quick = false): BillScenario {
  const keys = { all: KEYS, quick: ["trials", "hours", "hourSeconds", "users"] };
  const { sheet, root } = openScenario(text, file, keys, quick);
  const whole = (name: string, max: number): number => root.get(name).number({ min: 1, max, whole: true });
  const scenario: BillScenario = {
    ...readHead(root, file),
    seed: root.get("seed").number({ min: 0, max: 2 ** 31, whole: true }),
    trials: whole("trials", 1_000),
    hours: whole("hours", 24 * 7),
    hourSeconds: whole("hourSeconds", 3_600),
    users: whole("users", 10_000),
  };
  closeSheet(sheet, file);
  return scenario;
}
