// The report of a scenario of kind `bill`: one HTML file.
import { seededRandom } from "@isochrone/runtime";
import { changeInterval, count, figure, interval, percent } from "../report/format.ts";
import { details, facts, html, prose, table } from "../report/html.ts";
import { reportPage } from "../report/page.ts";
import { estimateChange, estimateMean, type Estimate } from "../statistics/bootstrap.ts";
import { BILL_CONTENDERS, type BillContender, type BillResult } from "./run.ts";
import type { BillScenario } from "./scenario.ts";

interface BillReportInput {
  readonly scenario: BillScenario;
  readonly contenders: readonly BillContender[];
  readonly results: readonly BillResult[];
  readonly command: string;
  readonly quick: boolean;
  readonly machine: Readonly<Record<string, string | number>>;
}

const SEED = 1;
const BASELINE: BillContender = "default";

type FigureKey = "failedRatio" | "meanMs" | "moves" | "p95Ms" | "perMonth";

function valuesOf(results: readonly BillResult[], contender: BillContender, key: FigureKey): number[] {
  return results.filter((each) => each.contender === contender).map((each) => each[key]);
}

export function meanOf(results: readonly BillResult[], contender: BillContender, key: FigureKey): Estimate {
  return estimateMean(valuesOf(results, contender, key), seededRandom(SEED));
}

/** Against the baseline, day by day. */
function changeOf(results: readonly BillResult[], contender: BillContender, key: FigureKey): Estimate {
  const of = (who: BillContender): number[] => valuesOf(results, who, key);
  return estimateChange(of(contender), of(BASELINE), seededRandom(SEED));
}

/** `money costs 62 % less than default, its p95 is 1.2 % lower, ...` */
export function comparison(results: readonly BillResult[], contender: BillContender): string {
  const [money, slow] = (["perMonth", "p95Ms"] as const).map((key) => changeOf(results, contender, key).mean);
  const [failed, before] = [contender, BASELINE].map((who) => meanOf(results, who, "failedRatio").mean);
  const word = (change: number, less: string, more: string): string =>
    `${percent(Math.abs(change))} ${change <= 0 ? less : more}`;
  return `${contender} costs ${word(money!, "less", "more")} than ${BASELINE}, its p95 is ${word(slow!, "lower", "higher")}, ${percent(failed!)} of its requests fail (${BASELINE}: ${percent(before!)}).`;
}

export function billReport(input: BillReportInput): string {
  const { scenario, contenders, results, command, quick, machine } = input;
  const others = contenders.filter((id) => id !== BASELINE);
  const hasBaseline = contenders.includes(BASELINE);
  return reportPage(
    scenario,
    html`<div class="finding">
        <ul>
          ${hasBaseline ? others.map((id) => html`<li>${comparison(results, id)}</li>`) : null}
        </ul>
        ${quick ? html`<p>This is a quick run: fewer and shorter days. It shows directions, not sizes.</p>` : null}
      </div>
      <h2>Set-up</h2>
      ${facts([
        ["source", prose(scenario.source)],
        [
          "days",
          `${count(scenario.trials, "day")} of ${scenario.hours} hours, ${scenario.hourSeconds} s each; ${scenario.users} requests/s; seed ${scenario.seed}`,
        ],
        ...contenders.map((id) => [`contender ${id}`, BILL_CONTENDERS[id]] as const),
        [
          "machine",
          Object.entries(machine)
            .map(([name, value]) => `${name}: ${value}`)
            .join("; "),
        ],
        ["command", html`<code>${command}</code>`],
      ])}
      <h2>Results</h2>
      ${table(
        "mean of the days, with 95 % intervals",
        ["contender", "USD/month", "p95, ms", "mean, ms", "failed", "moves a day"],
        contenders.map((id) => [
          id,
          interval(meanOf(results, id, "perMonth")),
          interval(meanOf(results, id, "p95Ms")),
          interval(meanOf(results, id, "meanMs")),
          percent(meanOf(results, id, "failedRatio").mean),
          figure(meanOf(results, id, "moves").mean),
        ]),
      )}
      ${
        hasBaseline
          ? table(
              `change against ${BASELINE}, day by day; gains are below 0, losses above`,
              ["contender", "money", "p95", "mean"],
              others.map((id) => [
                id,
                changeInterval(changeOf(results, id, "perMonth")),
                changeInterval(changeOf(results, id, "p95Ms")),
                changeInterval(changeOf(results, id, "meanMs")),
              ]),
            )
          : null
      }
      <h2>Threats to validity</h2>
      <ul>
        ${scenario.threats.map((threat) => html`<li>${prose(threat)}</li>`)}
      </ul>
      <h2>All days</h2>
      ${details(
        `${results.length} runs of the model`,
        table(
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
      )}`,
  );
}
