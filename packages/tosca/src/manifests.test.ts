import { describe, expect, it } from "vitest";
import { CHANNELS_ANNOTATION } from "@isochrone/kubernetes";
import { appGroupOf } from "./app-group.ts";
import { manifestsOf } from "./manifests.ts";
import { readText, template } from "./testing/texts.ts";

const SHOP = template(`
metadata: { template_name: shop }
node_types:
  Gateway: { derived_from: k8s:Service, capabilities: { service: { type: k8s:NodePort } } }
topology_template:
  node_templates:
    gateway:
      type: Gateway
      capabilities:
        metadata: { properties: { name: web, labels: { app: web }, annotations: { team: a } } }
        service: { properties: { ports: [ { port: 80, targetPortName: http } ] } }
        deployment:
          properties:
            replicas: 3
            minReadySeconds: 1 m
            strategy: { type: RollingUpdate, maxSurge: { factor: 0.5 }, maxUnavailable: { count: 1 } }
            template:
              terminationGracePeriodSeconds: 2 m
              containers: [ { name: web, image: web:1 } ]
      requirements:
      - route: { node: db, relationship: { type: gRPCRoute, properties: { minBandwidth: 10 Mbps } } }
      - route: { node: gateway, relationship: AsynchronousRoute }
    db:
      type: k8s:Service
      capabilities: { metadata: { properties: { namespace: data } } }
`);

describe("objects of a template", () => {
  it("are a Service and a Deployment for each node template, with what Puccini's units mean", async () => {
    const { objects, notes } = manifestsOf(await readText(SHOP, {}, { namespace: "shop" }));
    const labels = { app: "web", service: "gateway" };
    const metadata = { name: "web", namespace: "shop", labels, annotations: { team: "a" } };
    expect(objects).toEqual([
      {
        apiVersion: "v1",
        kind: "Service",
        metadata,
        spec: { type: "NodePort", ports: [{ port: 80, targetPort: "http" }], selector: labels },
      },
      {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata,
        spec: {
          replicas: 3,
          minReadySeconds: 60,
          strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: "50%", maxUnavailable: 1 } },
          selector: { matchLabels: labels },
          template: {
            metadata: {
              labels: {
                ...labels,
                "appgroup.diktyo.x-k8s.io": "shop",
                "appgroup.diktyo.x-k8s.io.workload": "web",
              },
              annotations: { team: "a" },
            },
            spec: { terminationGracePeriodSeconds: 120, containers: [{ name: "web", image: "web:1" }] },
          },
        },
      },
    ]);
    expect(notes).toEqual(["db has no containers: no Deployment"]);
  });

  it("include an AppGroup that says what it can, and an annotation for the rest", async () => {
    const application = await readText(SHOP, {}, { namespace: "shop" });
    const { metadata, spec } = appGroupOf(application, { algorithm: "KahnSort", isPlanned: true });
    const workload = (namespace: string, name: string) => ({
      kind: "Deployment",
      apiVersion: "apps/v1",
      namespace,
      name,
      selector: name,
    });
    expect(spec).toEqual({
      numMembers: 2,
      topologySortingAlgorithm: "KahnSort",
      workloads: [
        {
          workload: workload("shop", "web"),
          dependencies: [
            { workload: workload("data", "db"), maxNetworkCost: 10_000, minBandwidth: "10000000" },
          ],
        },
        { workload: workload("data", "db") },
      ],
    });
    expect(metadata.labels).toEqual({ "isochrone.dev/placement": "enabled" });
    expect(JSON.parse(metadata.annotations![CHANNELS_ANNOTATION]!)).toEqual([
      { source: "web", target: "data/db", type: "gRPCRoute", priority: 50 },
      { source: "web", target: "web", type: "AsynchronousRoute", priority: 1 },
    ]);
    expect(application.notes).toEqual([
      "services outside of shop are parts of workflows of their own namespaces, too; channels that they start count only where aggregator.declareFor allows objects in shop to declare them",
    ]);
  });

  it("are refused where the template's values can't be those of an object", async () => {
    const outcomeOf = async (capabilities: string, name = "a"): Promise<string> => {
      try {
        manifestsOf(
          await readText(
            template(
              `topology_template: { node_templates: { ${name}: { type: k8s:Service, capabilities: { ${capabilities} } } } }`,
            ),
          ),
        );
        return "nothing failed";
      } catch (error) {
        return (error as Error).message;
      }
    };
    expect(await outcomeOf("deployment: { properties: { template: {} } }")).toBe(
      "main.yaml:3:118: topology_template.node_templates.a.capabilities.deployment.properties.template must have a list of containers",
    );
    expect(
      await outcomeOf(
        "deployment: { properties: { template: { containers: [ {} ] }, minReadySeconds: soon } }",
      ),
    ).toContain('minReadySeconds must be a time, as 10 s, got "soon"');
    expect(
      await outcomeOf(
        "metadata: { properties: { name: a } }, service: { properties: { ports: [ { port: 1 } ] } }",
        '"a b"',
      ),
    ).toContain("node_templates.a b must be called by a label");
    expect(await outcomeOf("service: { properties: { ports: [ 80 ] } }")).toContain(
      "ports.0 must be a map, got 80",
    );
    expect(await outcomeOf("deployment: { properties: { replicas: many } }")).toContain(
      'replicas must be a whole number, got "many"',
    );
  });
});
