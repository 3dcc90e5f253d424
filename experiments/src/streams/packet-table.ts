// What packets made of the plans, beside what the model says.
import { figure, labelText } from "../report/format.ts";
import { html, table, type Html } from "../report/html.ts";
import { mean } from "../statistics/mean.ts";
import type { PacketResult } from "./packets.ts";
import type { StreamScenario } from "./scenario.ts";

/** Null where nothing was measured. */
export function packetTable(scenario: StreamScenario, results: readonly PacketResult[]): Html | null {
  if (results.length === 0) return null;
  const { contenders, baseline, points } = scenario;
  const rows = points.flatMap(({ id, labels }) =>
    contenders.flatMap((contender) => {
      const own = results.filter((each) => each.point === id && each.contender === contender);
      if (own.length === 0) return [];
      const base = results.filter((each) => each.point === id && each.contender === baseline);
      const jobs = own.flatMap(({ ratios }) => ratios);
      const measured = mean(own.map((each) => each.measured));
      return [
        [
          labelText(labels) || "all",
          contender,
          figure(mean(own.map((each) => each.predicted))),
          figure(measured),
          own.map((each) => figure(each.measured / each.predicted)).join(", "),
          `${figure(Math.min(...jobs))} to ${figure(Math.max(...jobs))}`,
          base.length === 0 ? "" : figure(measured / mean(base.map((each) => each.measured))),
        ],
      ];
    }),
  );
  return html`${table(
    "Packets: frames of real size over TCP between network namespaces; means over networks and jobs",
    [
      "point",
      "contender",
      "model, frames/s",
      "packets, frames/s",
      "packets / model, by network",
      "packets / model, by job",
      `packets / packets of ${baseline}`,
    ],
    rows,
  )}`;
}
