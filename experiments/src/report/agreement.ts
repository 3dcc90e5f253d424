import type { Scenario } from "../scenario/model.ts";
import type { Analysis } from "./analysis.ts";
import { interval, labelText, percent } from "./format.ts";
import { html, table } from "./html.ts";
import type { Html } from "./html.ts";

const AGREEMENT = 0.15;

interface Agreement {
  readonly point: string;
  readonly contender: string;
  readonly lab: string;
  readonly model: string;
  /** Relative deviation of the model's p95 from the lab's. */
  readonly deviation: number;
}

export function agreementsOf(scenario: Scenario, analyses: readonly Analysis[]): readonly Agreement[] {
  const lab = analyses.find(({ ground }) => ground === "lab");
  const model = analyses.find(({ ground }) => ground === "model");
  if (lab === undefined || model === undefined) return [];
  return lab.points.flatMap((point) => {
    const other = model.points.find(({ id }) => id === point.id);
    return scenario.contenders.flatMap((contender) => {
      const measured = point.contenders.find((each) => each.contender === contender)?.measured?.p95;
      const modelled = other?.contenders.find((each) => each.contender === contender)?.measured?.p95;
      if (measured === undefined || modelled === undefined) return [];
      return [
        {
          point: labelText(point.labels) || "all",
          contender,
          lab: interval(measured),
          model: interval(modelled),
          deviation: modelled.mean / measured.mean - 1,
        },
      ];
    });
  });
}

export function agreementSection(scenario: Scenario, analyses: readonly Analysis[]): Html | null {
  const agreements = agreementsOf(scenario, analyses);
  if (agreements.length === 0) return null;
  const within = agreements.filter(({ deviation }) => Math.abs(deviation) <= AGREEMENT).length;
  return html`<h3>Model and lab</h3>
    <p>
      At ${within} of ${agreements.length} points and contenders that both grounds have, the model's p95 is
      within 15 % of the lab's.
    </p>
    ${table(
      "p95 in ms",
      ["point", "contender", "lab", "model", "deviation", "within 15 %"],
      agreements.map(({ point, contender, lab, model, deviation }) => [
        point,
        contender,
        lab,
        model,
        percent(deviation, true),
        Math.abs(deviation) <= AGREEMENT ? "yes" : "no",
      ]),
    )}`;
}
