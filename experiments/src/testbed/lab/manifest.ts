import { BEHAVIOUR, readManifest, WORKFLOW_LABEL } from "@isochrone/lab";
import type { WorkflowManifest } from "@isochrone/lab";
import type { Point, PointWorkload } from "../../scenario/model.ts";

export function annotationsOf(workload: PointWorkload, isEntry: boolean): Record<string, string> {
  const { calls, cpuMs, cpuSpread } = workload;
  const options = calls.map(({ callee, requestBytes, responseBytes, probability }) => [
    callee,
    { requestBytes: Math.round(requestBytes), responseBytes: Math.round(responseBytes), probability },
  ]);
  return {
    [BEHAVIOUR.cpuMs]: String(cpuMs),
    [BEHAVIOUR.calls]: calls.map(({ callee }) => callee).join(","),
    ...(calls.length > 0 ? { [BEHAVIOUR.callOptions]: JSON.stringify(Object.fromEntries(options)) } : {}),
    ...(cpuSpread === "exponential" ? { [BEHAVIOUR.cpuSpread]: cpuSpread } : {}),
    ...(isEntry ? { [BEHAVIOUR.entry]: "true" } : {}),
  };
}

/** Throws ManifestError if the lab doesn't support the workflow. */
export function manifestOf({ id, workflow }: Point): WorkflowManifest {
  const documents = workflow.workloads.flatMap((workload) => [
    deployment(workflow.name, workload, workload.name === workflow.entry),
    service(workload.name),
  ]);
  return readManifest(documents.map((document) => JSON.stringify(document)).join("\n---\n"), id);
}

function deployment(workflow: string, workload: PointWorkload, isEntry: boolean): object {
  const { name, replicas } = workload;
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: {
          labels: { app: name, version: "v1", [WORKFLOW_LABEL]: workflow },
          annotations: annotationsOf(workload, isEntry),
        },
        spec: { containers: [{ name: "app", image: "stand-in" }] },
      },
    },
  };
}

const service = (name: string): object => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name },
  spec: { selector: { app: name }, ports: [{ port: 80 }] },
});
