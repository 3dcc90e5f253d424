import { collectorSpeaker } from "@isochrone/collector/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Helm, helmSupport, settingsOf } from "../harness/helm/index.ts";

const support = helmSupport();
if (!support.supported) console.warn(`the chart is not rendered: ${support.reason}`);

describe.runIf(support.supported)("the chart's speakers", { timeout: 60_000 }, () => {
  let helm: Helm;

  beforeAll(async () => {
    helm = await Helm.open();
  }, 900_000);
  afterAll(() => helm?.close());

  test("name the collector that asks Prometheus as it calls itself, beside what else the operator names", async () => {
    const said = { name: "otel-shop", namespaces: ["shop"] };
    const objects = await helm.template({
      collector: { mode: "prometheus" },
      settings: {
        aggregator: { speakers: JSON.stringify([said]) },
        collector: { prometheusUrl: "http://prometheus:9090" },
      },
    });
    const { speakers } = settingsOf(objects, "aggregator")["aggregator"]!;
    const rules = JSON.parse(speakers as string) as unknown[];
    expect(rules).toEqual([
      said,
      {
        name: (collectorSpeaker({ mode: "prometheus", node: "n1" }) as { name: string }).name,
        account: "system:serviceaccount:isochrone:isochrone-collector",
        nodes: ["*"],
        namespaces: ["*"],
      },
    ]);
  });
});
