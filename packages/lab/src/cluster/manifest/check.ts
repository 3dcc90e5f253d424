import { KINDS } from "@isochrone/kubernetes";
import { parseBytes, parseMillicores } from "@isochrone/primitives";
import type { KubernetesObject } from "@isochrone/kubernetes";
import { ManifestError } from "../errors.ts";
import type { ManifestProblem } from "../errors.ts";
import { BEHAVIOUR, WORKFLOW_LABEL } from "../names.ts";
import { serviceSelects } from "../objects.ts";
import { readBehaviour } from "./behaviour.ts";
import { orderCallersFirst } from "./graph.ts";
import type { Behaviour, ManifestDocument, WorkflowManifest, WorkflowWorkload } from "./model.ts";

const NAME = /^[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?$/;
const MAX_REPLICAS = 50;
const RESOURCES = [
  ["cpu", parseMillicores],
  ["memory", parseBytes],
] as const;
const APP_GROUP = `${KINDS.appGroup.apiVersion} AppGroup`;
const KINDS_ALLOWED = new Set(["apps/v1 Deployment", "v1 Service", APP_GROUP]);

interface Draft {
  readonly document: ManifestDocument;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly behaviour: Behaviour;
  readonly entry: boolean;
}

type Refuse = (document: ManifestDocument, path: readonly (string | number)[], message: string) => void;

const TEMPLATE = ["spec", "template", "metadata", "annotations"];

/** Throws ManifestError with every broken rule. */
export function checkManifest(file: string, documents: readonly ManifestDocument[]): WorkflowManifest {
  const problems: ManifestProblem[] = [];
  const refuse: Refuse = (document, path, message) => {
    problems.push({ file, document: document.index, line: document.line(...path), message });
  };
  const known = checkObjects(documents, refuse);
  const drafts = known
    .filter(({ object }) => object.kind === "Deployment")
    .map((document) => readDeployment(document, refuse));
  const services = known.filter(({ object }) => object.kind === "Service");
  const serving = matchServices(services, drafts, refuse);
  const workflow = checkWorkflow(drafts, refuse);
  const entry = checkEntry(drafts, refuse);
  const callees = checkCalls(drafts, serving, refuse);
  const order = checkCycle(drafts, callees, refuse);
  if (drafts.length === 0)
    problems.push({
      file,
      document: 1,
      line: 1,
      message: "holds no Deployment; a workflow needs at least one",
    });
  if (problems.length > 0 || entry === null) throw new ManifestError(problems);

  const workloads = order.map((name): WorkflowWorkload => {
    const draft = drafts.find((candidate) => candidate.name === name)!;
    return {
      name,
      namespace: draft.document.object.metadata.namespace!,
      services: [...serving].filter(([, workload]) => workload === name).map(([service]) => service),
      callees: callees.get(name) ?? [],
      entry: draft.entry,
      behaviour: draft.behaviour,
    };
  });
  const namespace = workloads[0]!.namespace;
  return {
    file,
    workflow,
    namespace,
    objects: known.map(({ object }) => object),
    workloads,
    entry: workloads.find(({ entry }) => entry)!,
  };
}

function checkObjects(documents: readonly ManifestDocument[], refuse: Refuse): ManifestDocument[] {
  const seen = new Map<string, number>();
  let namespace: string | null = null;
  const valid: ManifestDocument[] = [];
  for (const document of documents) {
    const { object } = document;
    const kind = `${show(object.apiVersion)} ${show(object.kind)}`;
    const name = object.metadata?.name;
    if (!KINDS_ALLOWED.has(kind)) {
      refuse(
        document,
        ["kind"],
        `must be an apps/v1 Deployment, a v1 Service or an ${APP_GROUP}, got "${kind}"`,
      );
      continue;
    }
    if (typeof name !== "string" || !NAME.test(name)) {
      refuse(
        document,
        ["metadata", "name"],
        `metadata.name must be a lower-case DNS label of at most 42 characters, got "${show(name)}"`,
      );
      continue;
    }
    object.metadata.namespace ??= "default";
    namespace ??= object.metadata.namespace;
    if (object.metadata.namespace !== namespace)
      refuse(
        document,
        ["metadata", "namespace"],
        `all objects must be in one namespace, "${namespace}", got "${object.metadata.namespace}"`,
      );
    const first = seen.get(`${object.kind}/${name}`);
    if (first !== undefined)
      refuse(
        document,
        ["metadata", "name"],
        `${object.kind} "${name}" is already in document ${first}; names must be unique`,
      );
    else valid.push(document);
    seen.set(`${object.kind}/${name}`, first ?? document.index);
  }
  return valid;
}

interface DeploymentSpec {
  replicas?: unknown;
  selector?: { matchLabels?: Record<string, string> };
  template?: {
    metadata?: { labels?: Record<string, string>; annotations?: Record<string, unknown> };
    spec?: { containers?: unknown };
  };
}

function readDeployment(document: ManifestDocument, refuse: Refuse): Draft {
  const { name } = document.object.metadata;
  const spec = (document.object.spec ?? {}) as DeploymentSpec;
  const labels = spec.template?.metadata?.labels ?? {};
  checkReplicas(document, spec, refuse);
  checkSelector(document, spec, labels, refuse);
  checkContainers(document, spec, refuse);
  const annotations = readAnnotations(document, spec, refuse);
  const behaviour = readBehaviour(annotations, (annotation, message) =>
    refuse(document, [...TEMPLATE, annotation], `Deployment "${name}": ${message}`),
  );
  return { document, name, labels, behaviour, entry: annotations[BEHAVIOUR.entry] === "true" };
}

function checkReplicas(document: ManifestDocument, { replicas = 1 }: DeploymentSpec, refuse: Refuse): void {
  const valid =
    typeof replicas === "number" && Number.isInteger(replicas) && replicas >= 0 && replicas <= MAX_REPLICAS;
  const rule = `spec.replicas must be an integer from 0 to ${MAX_REPLICAS}`;
  if (!valid)
    refuse(
      document,
      ["spec", "replicas"],
      `Deployment "${document.object.metadata.name}": ${rule}, got "${show(replicas)}"`,
    );
}

function checkSelector(
  document: ManifestDocument,
  spec: DeploymentSpec,
  labels: Readonly<Record<string, string>>,
  refuse: Refuse,
): void {
  const selector = Object.entries(spec.selector?.matchLabels ?? {});
  if (selector.length > 0 && selector.every(([key, value]) => labels[key] === value)) return;
  const rule = "spec.selector.matchLabels must be given and match the labels of the pod template";
  refuse(document, ["spec", "selector"], `Deployment "${document.object.metadata.name}": ${rule}`);
}

function readAnnotations(
  document: ManifestDocument,
  spec: DeploymentSpec,
  refuse: Refuse,
): Record<string, string> {
  const texts: Record<string, string> = {};
  for (const [key, value] of Object.entries(spec.template?.metadata?.annotations ?? {})) {
    if (typeof value === "string") texts[key] = value;
    else {
      const rule = `annotation ${key} must be a string (quote it)`;
      refuse(
        document,
        [...TEMPLATE, key],
        `Deployment "${document.object.metadata.name}": ${rule}, got ${show(value)}`,
      );
    }
  }
  return texts;
}

function show(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "nothing");
}

function checkContainers(document: ManifestDocument, spec: DeploymentSpec, refuse: Refuse): void {
  const name = document.object.metadata.name;
  const path = ["spec", "template", "spec", "containers"];
  const containers = spec.template?.spec?.containers;
  if (!Array.isArray(containers) || containers.length === 0) {
    refuse(
      document,
      path,
      `Deployment "${name}": spec.template.spec.containers must hold at least one container`,
    );
    return;
  }
  for (const [index, container] of containers.entries()) {
    const requests =
      (container as { resources?: { requests?: Record<string, unknown> } } | null)?.resources?.requests ?? {};
    for (const [resource, parse] of RESOURCES) {
      const value = requests[resource];
      if (value !== undefined && parse(value) === null)
        refuse(
          document,
          [...path, index, "resources", "requests", resource],
          `Deployment "${name}": resources.requests.${resource} must be a quantity such as 250m or 128Mi, got "${show(value)}"`,
        );
    }
  }
}

function matchServices(
  services: readonly ManifestDocument[],
  drafts: readonly Draft[],
  refuse: Refuse,
): Map<string, string> {
  const serving = new Map<string, string>();
  for (const document of services) {
    const { object } = document;
    const matches = drafts.filter(({ labels }) => serviceSelects(object, labels));
    if (matches.length === 1) serving.set(object.metadata.name, matches[0]!.name);
    else {
      const found = matches.length === 0 ? "none" : matches.map(({ name }) => name).join(", ");
      refuse(
        document,
        ["spec", "selector"],
        `Service "${object.metadata.name}": spec.selector must select the pods of exactly one Deployment of this file, got ${found}`,
      );
    }
  }
  return serving;
}

function checkWorkflow(drafts: readonly Draft[], refuse: Refuse): string {
  const workflow = drafts[0]?.labels[WORKFLOW_LABEL] ?? "";
  for (const { document, name, labels } of drafts) {
    const found: unknown = labels[WORKFLOW_LABEL];
    if (typeof found !== "string" || found === "" || found !== workflow)
      refuse(
        document,
        ["spec", "template", "metadata", "labels"],
        `Deployment "${name}": the pod template must carry the label ${WORKFLOW_LABEL}, the same in the whole file ("${workflow}"), got "${show(found ?? "")}"`,
      );
  }
  return workflow;
}

function checkEntry(drafts: readonly Draft[], refuse: Refuse): Draft | null {
  const entries = drafts.filter(({ entry }) => entry);
  if (entries.length === 0 && drafts.length > 0)
    refuse(
      drafts[0]!.document,
      [],
      `no Deployment has the annotation ${BEHAVIOUR.entry}: "true"; exactly one must be the entry`,
    );
  for (const { document, name } of entries.slice(1))
    refuse(
      document,
      [...TEMPLATE, BEHAVIOUR.entry],
      `Deployment "${name}": ${BEHAVIOUR.entry} is already on "${entries[0]!.name}"; exactly one must be the entry`,
    );
  return entries[0] ?? null;
}

function checkCalls(
  drafts: readonly Draft[],
  serving: ReadonlyMap<string, string>,
  refuse: Refuse,
): Map<string, string[]> {
  const callees = new Map<string, string[]>();
  for (const { document, name, behaviour, entry } of drafts) {
    callees.set(name, []);
    for (const service of new Set(behaviour.calls)) {
      const workload = serving.get(service);
      if (workload === undefined)
        refuse(
          document,
          [...TEMPLATE, BEHAVIOUR.calls],
          `Deployment "${name}": calls "${service}", but no Service of that name selects a Deployment of this file`,
        );
      else callees.get(name)!.push(workload);
    }
    if (entry && ![...serving.values()].includes(name))
      refuse(document, ["metadata", "name"], `Deployment "${name}": the entry needs a Service`);
  }
  return callees;
}

function checkCycle(
  drafts: readonly Draft[],
  callees: ReadonlyMap<string, readonly string[]>,
  refuse: Refuse,
): string[] {
  const result = orderCallersFirst(
    drafts.map(({ name }) => name),
    (name) => callees.get(name) ?? [],
  );
  if ("order" in result) return result.order;
  const first = drafts.find(({ name }) => name === result.cycle[0])!;
  refuse(
    first.document,
    [...TEMPLATE, BEHAVIOUR.calls],
    `calls form a cycle, a request would never end: ${result.cycle.join(" -> ")}`,
  );
  return [];
}

export function copyObjects(manifest: WorkflowManifest): KubernetesObject[] {
  return structuredClone([...manifest.objects]);
}
