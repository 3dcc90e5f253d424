import type { ReportContext } from "../frame/experiment.ts";
import { changeOf, meanOf } from "../frame/figures.ts";
import { experimentReport, findingList } from "../report/experiment-report.ts";
import { changeInterval, count, figure, interval, percent } from "../report/format.ts";
import { html, table } from "../report/html.ts";
import type { Estimate } from "../statistics/bootstrap.ts";
import { BILL_CONTENDERS, type BillContender, type BillResult } from "./cells.ts";
import type { BillScenario } from "./scenario.ts";

interface BillReportInput extends ReportContext {
  readonly scenario: BillScenario;
  readonly contenders: readonly BillContender[];
  readonly results: readonly BillResult[];
}

const BASELINE: BillContender = "default";

type FigureKey = "failedRatio" | "meanMs" | "moves" | "p95Ms" | "perMonth";

function changeAgainstBaseline(
  results: readonly BillResult[],
  contender: BillContender,
  key: FigureKey,
): Estimate {
  return changeOf(results, null, key, contender, BASELINE) ?? { mean: NaN, low: NaN, high: NaN, n: 0 };
}

/** `money costs 62 % less than default, its p95 is 1.2 % lower, ...` */
export function comparison(results: readonly BillResult[], contender: BillContender): string {
  const [money, slow] = (["perMonth", "p95Ms"] as const).map(
    (key) => changeAgainstBaseline(results, contender, key).mean,
  );
  const [failed, before] = [contender, BASELINE].map((who) => meanOf(results, null, who, "failedRatio").mean);
  const word = (change: number, less: string, more: string): string =>
    `${percent(Math.abs(change))} ${change <= 0 ? less : more}`;
  return `${contender} costs ${word(money!, "less", "more")} than ${BASELINE}, its p95 is ${word(slow!, "lower", "higher")}, ${percent(failed!)} of its requests fail (${BASELINE}: ${percent(before!)}).`;
}

export function billReport(input: BillReportInput): string {
  const { scenario, contenders, results, quick } = input;
  const others = contenders.filter((id) => id !== BASELINE);
  const hasBaseline = contenders.includes(BASELINE);
  return experimentReport(scenario, input, {
    findings: findingList(
      hasBaseline ? others.map((id) => comparison(results, id)) : [],
      quick ? "fewer and shorter days" : null,
    ),
    setUp: [
      [
        "days",
        `${count(scenario.trials, "day")} of ${scenario.hours} hours, ${scenario.hourSeconds} s each; ${scenario.users} requests/s; seed ${scenario.seed}`,
      ],
      ...contenders.map((id) => [`contender ${id}`, BILL_CONTENDERS[id]] as const),
    ],
    results: html`${table(
      "mean of the days, with 95 % intervals",
      ["contender", "USD/month", "p95, ms", "mean, ms", "failed", "moves a day"],
      contenders.map((id) => [
        id,
        interval(meanOf(results, null, id, "perMonth")),
        interval(meanOf(results, null, id, "p95Ms")),
        interval(meanOf(results, null, id, "meanMs")),
        percent(meanOf(results, null, id, "failedRatio").mean),
        figure(meanOf(results, null, id, "moves").mean),
      ]),
    )}
    ${
      hasBaseline
        ? table(
            `change against ${BASELINE}, day by day; gains are below 0, losses above`,
            ["contender", "money", "p95", "mean"],
            others.map((id) => [
              id,
              changeInterval(changeAgainstBaseline(results, id, "perMonth")),
              changeInterval(changeAgainstBaseline(results, id, "p95Ms")),
              changeInterval(changeAgainstBaseline(results, id, "meanMs")),
            ]),
          )
        : null
    }`,
    all: {
      title: "All days",
      summary: `${results.length} runs of the model`,
      table: table(
        "days",
        ["contender", "day", "USD/month", "p95, ms", "failed", "moves"],
        results.map((each) => [
          each.contender,
          each.trial + 1,
          figure(each.perMonth),
          figure(each.p95Ms),
          percent(each.failedRatio),
          each.moves,
        ]),
      ),
    },
  });
}
