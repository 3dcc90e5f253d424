import { readManifest } from "../manifest/read.ts";
import type { WorkflowManifest } from "../manifest/model.ts";
import type { Site } from "../ports.ts";

export function workloadYaml(
  name: string,
  annotations: Readonly<Record<string, string>> = {},
  replicas = 1,
): string {
  const lines = Object.entries(annotations).map(
    ([key, value]) => `        lab.isochrone.dev/${key}: ${JSON.stringify(value)}`,
  );
  return `apiVersion: apps/v1
kind: Deployment
metadata: { name: ${name} }
spec:
  replicas: ${replicas}
  selector: { matchLabels: { app: ${name} } }
  template:
    metadata:
      labels: { app: ${name}, version: v1, isochrone.dev/workflow: three }
      annotations:
        lab.isochrone.dev/cpu-ms: "0"
${lines.join("\n")}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{ name: app, image: test, resources: { requests: { cpu: 100m, memory: 64Mi } } }]
---
apiVersion: v1
kind: Service
metadata: { name: ${name} }
spec: { selector: { app: ${name} }, ports: [{ port: 80 }] }
`;
}

export function threeServices(): WorkflowManifest {
  return readManifest(
    [
      workloadYaml("a", { entry: "true", calls: "b,c", "request-bytes": "100", "response-bytes": "10" }),
      workloadYaml("b", { calls: "c", "request-bytes": "200", "response-bytes": "2000" }),
      workloadYaml("c", { "response-bytes": "3000" }),
    ].join("---\n"),
    "three.yaml",
  );
}

export function sites(count: number, cpuMillicores = 2_000): Site[] {
  return Array.from({ length: count }, (_, index) => ({
    name: `n${index + 1}`,
    region: `r${(index % 2) + 1}`,
    zone: `z${index + 1}`,
    cpuMillicores,
    memoryBytes: 2 ** 31,
  }));
}
