// Deployments and Services, as Puccini's own script for its Kubernetes profile writes them, with the labels
// of the AppGroup on the pods.
import { isLabelValue, KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { isRecord } from "@isochrone/primitives";
import { groupLabels } from "./app-group.ts";
import { checkValues, fieldsOf, type Application, type ServiceNode } from "./application.ts";
import type { Cursor, Fields } from "./cursor.ts";
import { Mistakes } from "./mistakes.ts";
import { secondsOf } from "./values.ts";

/** Types of the service capability that are types of a Service. */
const SERVICE_TYPES: ReadonlySet<string> = new Set(["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"]);

/** The objects of the services, and which of them are left out for want of something. Throws ToscaError. */
export function manifestsOf(application: Application): {
  readonly objects: KubernetesObject[];
  readonly notes: string[];
} {
  const notes: string[] = [];
  const mistakes = new Mistakes();
  const objects = application.services.flatMap((service) => {
    const [own, deployment] = [
      mistakes.attempt(() => serviceObject(service)),
      mistakes.attempt(() => deploymentObject(application, service)),
    ];
    if (deployment === null) notes.push(`${service.name} has no containers: no Deployment`);
    return [own, deployment].filter((object) => object !== null && object !== undefined);
  });
  mistakes.check();
  return { objects, notes };
}

/** Null: it opens no port. */
function serviceObject(node: ServiceNode): KubernetesObject | null {
  if (node.service === null) return null;
  const { type, properties } = node.service;
  const spec = Object.fromEntries([...properties].map(([key, at]) => [key, checked(at)]));
  if (type !== "ExternalName" && !properties.has("ports")) return null;
  const ports = properties.get("ports")?.items().map(portOf);
  return {
    ...KINDS.service,
    metadata: metadataOf(node),
    spec: {
      ...(SERVICE_TYPES.has(type) ? { type } : {}),
      ...spec,
      ...(ports === undefined ? {} : { ports }),
      ...(type === "ExternalName" ? {} : { selector: spec.selector ?? selectorOf(node) }),
    },
  };
}

function portOf(at: Cursor): Fields {
  const { targetPortName, ...port } = fieldsOf(at);
  return targetPortName === undefined ? port : { ...port, targetPort: targetPortName };
}

/** Null: it has no pods of its own. */
function deploymentObject(application: Application, node: ServiceNode): KubernetesObject | null {
  const template = node.deployment?.get("template");
  if (node.deployment === null || template === undefined) return null;
  const spec: Record<string, unknown> = {};
  for (const [key, at] of node.deployment) spec[key] = CONVERSIONS[key]?.(at) ?? checked(at);
  const selector = isRecord(spec.selector) ? spec.selector : {};
  const isSelector = "matchLabels" in selector || "matchExpressions" in selector;
  return {
    ...KINDS.deployment,
    metadata: metadataOf(node),
    spec: {
      ...spec,
      selector: isSelector ? selector : { matchLabels: selectorOf(node) },
      template: {
        metadata: {
          labels: { ...selectorOf(node), ...groupLabels(application, node) },
          ...(Object.keys(node.annotations).length === 0 ? {} : { annotations: node.annotations }),
        },
        spec: podSpec(template),
      },
    },
  };
}

function metadataOf(node: ServiceNode): KubernetesObject["metadata"] {
  const { name, namespace, annotations } = node;
  return {
    name,
    namespace,
    labels: selectorOf(node),
    ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
  };
}

/** Without the AppGroup's labels: a Deployment's selector can never be changed. */
function selectorOf({ labels, template, at }: ServiceNode): Record<string, string> {
  if (!isLabelValue(template))
    throw at.error(
      "invalid_value",
      `must be called by a label's value (at most 63 letters, digits, -, _ and .), got ${JSON.stringify(template)}`,
    );
  return { ...labels, service: template };
}

const CONVERSIONS: Readonly<Record<string, (at: Cursor) => unknown>> = {
  minReadySeconds: seconds,
  progressDeadlineSeconds: seconds,
  strategy: strategyOf,
};

function seconds(at: Cursor): number {
  const value = secondsOf(at.value);
  if (value === null || !(value >= 0)) throw at.fail("must be a time, as 10 s", "invalid_value");
  return Math.round(value);
}

/** Puccini's `{type, maxSurge: {factor | count}}`; Kubernetes' own `rollingUpdate` stays. */
function strategyOf(at: Cursor): Fields {
  const { type, maxSurge, maxUnavailable, ...others } = fieldsOf(at);
  const amounts = Object.entries({ maxSurge, maxUnavailable }).filter(([, amount]) => amount !== undefined);
  const isRolling = type !== "Recreate" && amounts.length > 0;
  return {
    ...others,
    ...(type === undefined ? {} : { type }),
    ...(isRolling
      ? { rollingUpdate: Object.fromEntries(amounts.map(([key, amount]) => [key, amountOf(amount)])) }
      : {}),
  };
}

function amountOf(amount: unknown): unknown {
  if (!isRecord(amount)) return amount;
  const { factor, count } = amount;
  return typeof factor === "number" ? `${Math.round(factor * 100)}%` : count;
}

function podSpec(template: Cursor): Fields {
  const spec = fieldsOf(template);
  if (!Array.isArray(spec.containers) || spec.containers.length === 0)
    throw template.error("invalid_value", "must have a list of containers");
  const converted = Object.fromEntries(
    ["activeDeadlineSeconds", "terminationGracePeriodSeconds"]
      .filter((key) => spec[key] !== undefined)
      .map((key) => [key, seconds(template.get(key)!)]),
  );
  return { ...spec, ...converted };
}

function checked(at: Cursor): unknown {
  checkValues(at);
  return at.value;
}
