import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { startPrometheus, type RunningPrometheus, type ScrapeConfig } from "./prometheus/server.ts";

const FOLDER = join(import.meta.dirname, "../../helm/isochrone/dashboards");
interface PanelJson {
  readonly title: string;
  readonly type: string;
  readonly fieldConfig?: { readonly defaults: { readonly noValue?: string } };
  readonly targets?: readonly { readonly expr: string }[];
  readonly panels?: readonly PanelJson[];
}

interface PanelQuery {
  readonly panel: string;
  readonly expr: string;
  /** Text of an empty panel for a feature that may be off. Null: the panel always has data. */
  readonly hint: string | null;
}

export function panelQueries(): PanelQuery[] {
  return readdirSync(FOLDER).flatMap((file) => {
    const { title, panels } = JSON.parse(readFileSync(join(FOLDER, file), "utf8")) as {
      title: string;
      panels: readonly PanelJson[];
    };
    return panels
      .flatMap((panel) => (panel.type === "row" ? (panel.panels ?? []) : [panel]))
      .flatMap((panel) =>
        (panel.targets ?? []).map(({ expr }) => ({
          panel: `${title}: ${panel.title}`,
          expr: expr.replaceAll("$__rate_interval", "1m").replaceAll(/\$\w+/g, ".*"),
          hint: panel.fieldConfig?.defaults.noValue ?? null,
        })),
      );
  });
}

export async function scrapeEmbedded(labUrl: string): Promise<RunningPrometheus> {
  const listed = (await (await fetch(`${labUrl}/lab/v1/metrics-targets`)).json()) as {
    targets: string[];
    labels: { job: string };
  }[];
  const byJob = Map.groupBy(listed, ({ labels }) => labels.job);
  const configs = [...byJob].map(([job, entries]): ScrapeConfig => ({
    job,
    address: entries[0]!.targets[0]!,
    targets: entries.map(({ labels }) => labels),
  }));
  return startPrometheus(configs);
}

/** @throws Error with Prometheus' message for an invalid expression */
export async function seriesOf(prometheus: RunningPrometheus, expr: string): Promise<number> {
  const body = new URLSearchParams({ query: expr });
  const response = await fetch(`${prometheus.url}/api/v1/query`, { method: "POST", body });
  const answer = (await response.json()) as { data?: { result: readonly unknown[] }; error?: string };
  if (answer.data === undefined) throw new Error(`${expr}: ${answer.error ?? response.status}`);
  return answer.data.result.length;
}
