import { KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { describe, expect, test } from "vitest";
import { routingOfWorkloads, serviceScopes, trimmedService } from "./service-routing.ts";

const service = (
  name: string,
  spec: object,
  fields: Partial<KubernetesObject["metadata"]> = {},
): KubernetesObject => ({
  ...KINDS.service,
  metadata: { name, namespace: "shop", ...fields },
  spec: { selector: { app: "web" }, clusterIP: "10.0.0.1", ...spec },
});
const deployment = (name: string, labels: object, namespace = "shop"): KubernetesObject => ({
  ...KINDS.deployment,
  metadata: { name, namespace },
  spec: { template: { metadata: { labels } } },
});
const web = deployment("web", { app: "web", tier: "front" });
const routing = (services: KubernetesObject[], workloads = [web]): Record<string, unknown> =>
  Object.fromEntries(routingOfWorkloads(services, workloads));

describe("a Service prefers nearer endpoints", () => {
  test.each([
    [{ trafficDistribution: "PreferClose" }, ["zone"]],
    [{ trafficDistribution: "PreferSameZone" }, ["zone"]],
    [{ trafficDistribution: "PreferSameNode" }, ["node", "zone"]],
    [{ internalTrafficPolicy: "Local" }, ["node"]],
    [{ internalTrafficPolicy: "Local", trafficDistribution: "PreferClose" }, ["node"]],
    [{ internalTrafficPolicy: "Cluster" }, null],
    [{ trafficDistribution: "PreferFar" }, null],
    [{ trafficDistribution: 7 }, null],
    [{}, null],
  ])("%j: %j", (spec, scopes) => {
    expect(serviceScopes(service("web", spec))).toEqual(scopes);
    expect(serviceScopes(trimmedService(service("web", spec)))).toEqual(scopes);
  });

  test("by Istio's annotation too, which the trim keeps", () => {
    const annotations = { "networking.istio.io/traffic-distribution": "PreferClose", other: "x".repeat(900) };
    const trimmed = trimmedService(
      service("web", { ports: [{ port: 80 }] }, { annotations, resourceVersion: "3" }),
    );
    expect(serviceScopes(trimmed)).toEqual(["zone"]);
    expect(trimmed.metadata.resourceVersion).toBe("3");
    expect(JSON.stringify(trimmed)).not.toMatch(/xxx|port"/);
  });
});

describe("the routing of workloads", () => {
  const close = { trafficDistribution: "PreferClose" };

  test("is that of the Service whose whole selector their pods match, in its namespace", () => {
    const others = [web, deployment("api", { app: "api" }), deployment("web", { app: "web" }, "other")];
    expect(routing([service("web", { ...close, selector: { app: "web", tier: "front" } })], others)).toEqual({
      "shop/web": ["zone"],
    });
    expect(routing([service("web", { ...close, selector: { app: "web", tier: "back" } })], others)).toEqual(
      {},
    );
  });

  test("is what all its Services agree on; headless ones and names for other hosts have no say", () => {
    const node = service("node", { trafficDistribution: "PreferSameNode" });
    expect(routing([service("web", close), node])).toEqual({ "shop/web": ["zone"] });
    expect(routing([service("web", close), service("plain", {})])).toEqual({});
    const silent = [service("headless", { clusterIP: "None" }), service("name", { type: "ExternalName" })];
    expect(routing([service("web", close), ...silent])).toEqual({ "shop/web": ["zone"] });
    expect(routing([service("headless", { ...close, clusterIP: "None" })])).toEqual({});
  });

  test("isn't said by a Service without a selector, or of an odd shape", () => {
    expect(routing([service("web", { ...close, selector: {} })])).toEqual({});
    expect(routing([service("web", { ...close, selector: "app=web" })])).toEqual({});
    const bare: KubernetesObject = { ...KINDS.service, metadata: { name: "bare" } };
    expect(
      routing([bare, service("web", close)], [{ ...KINDS.deployment, metadata: { name: "x" } }]),
    ).toEqual({});
  });
});

describe("with DestinationRules", () => {
  const detecting = (more: object = {}): KubernetesObject => ({
    ...KINDS.destinationRule,
    metadata: { name: "web", namespace: "shop" },
    spec: { host: "web", trafficPolicy: { outlierDetection: {}, ...more } },
  });
  const off = detecting({ loadBalancer: { localityLbSetting: { enabled: false } } });
  const by = (services: KubernetesObject[], rules: KubernetesObject[]): Record<string, unknown> =>
    Object.fromEntries(routingOfWorkloads(services, [web], rules));

  test("callers prefer what they say, before what the Service says", () => {
    expect(by([service("web", {})], [detecting()])).toEqual({ "shop/web": ["zone", "region"] });
    const close = service("web", { trafficDistribution: "PreferClose" });
    expect(by([close], [detecting()])).toEqual({ "shop/web": ["zone"] });
    expect(by([close], [off])).toEqual({});
    expect(by([service("other", {})], [detecting()])).toEqual({});
  });
});
