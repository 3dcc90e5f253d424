// The MutatingWebhookConfiguration: whom the API server asks about which pods, and whose certificates it
// takes.
import {
  isStoreError,
  KINDS,
  StoreError,
  WEBHOOK_CONFIGURATION,
  type LabelExpression,
  type LabelSelector,
  type MatchCondition,
  type Webhook,
} from "@isochrone/kubernetes";
import { looseFields, looseList, looseText } from "@isochrone/primitives";
import {
  LABELS,
  PLACEMENT_ENABLED,
  PLACEMENT_LABEL,
  type ClusterStore,
  type KubernetesObject,
  type OwnerReference,
} from "@isochrone/kubernetes";
import type { Entry, GateRules, ReviewPath } from "./gate-rules.ts";

export interface RegistrationOptions {
  /** Where the API server finds the webhook. */
  readonly target: RegistrationTarget;
  /** ClusterRole with which the registration is deleted; null: it stays until somebody deletes it. */
  readonly ownerClusterRole: string | null;
  readonly timeoutMs: number;
  readonly schedulerNames: readonly string[];
  readonly excludedNamespaces: readonly string[];
  /** Whether it is asked about EndpointSlices, too. */
  readonly endpointSlices: boolean;
}

type RegistrationTarget =
  | { readonly url: string }
  | { readonly service: { readonly namespace: string; readonly name: string; readonly port: number } };

const SCHEDULER_CONDITION = "has-a-scheduler-of-ours";
const NAMESPACE_NAME = "kubernetes.io/metadata.name";

/** Where the webhook answers. */
export function pathOf(entry: ReviewPath): string {
  return entry === "endpoint-slices" ? `/v1/${entry}` : `/v1/pods/${entry}`;
}

/**
 * Makes the stored registration what it should be; true when it was written. What others have added (labels,
 * further conditions of the namespaceSelector, as some clouds do) stays. Throws the store's errors.
 */
export async function register(
  store: Pick<ClusterStore, "get" | "create" | "update">,
  options: RegistrationOptions,
  trusted: string,
): Promise<boolean> {
  const wanted = configuration(options, trusted);
  const owner = await ownerOf(store, options);
  const found = await store.get({ ...KINDS.mutatingWebhookConfiguration, name: WEBHOOK_CONFIGURATION });
  if (found === null) {
    const metadata = { ...wanted.metadata, ...(owner === null ? {} : { ownerReferences: [owner] }) };
    try {
      await store.create({ ...wanted, metadata });
    } catch (error) {
      // Another leader was a moment earlier: looked at again at the next check.
      if (!isStoreError(error, "already_exists")) throw error;
    }
    return true;
  }
  const owners = found.metadata.ownerReferences ?? [];
  const isOwned = owner === null || owners.some(({ uid }) => uid === owner.uid);
  if (isOwned && isCovered(wanted.webhooks, found.webhooks)) return false;
  const metadata = {
    ...found.metadata,
    labels: { ...found.metadata.labels, ...wanted.metadata.labels },
    ...(isOwned ? {} : { ownerReferences: [...owners, owner] }),
  };
  await store.update({ ...found, metadata, webhooks: wanted.webhooks });
  return true;
}

/** Rejects when the role isn't there: whoever deleted it has switched the webhook off. */
async function ownerOf(
  store: Pick<ClusterStore, "get">,
  { ownerClusterRole: name }: RegistrationOptions,
): Promise<OwnerReference | null> {
  if (name === null) return null;
  const role = await store.get({ ...KINDS.clusterRole, name });
  if (role?.metadata.uid === undefined)
    throw new StoreError("not_found", `webhook.ownerClusterRole must name a ClusterRole, got ${name}`);
  return { ...KINDS.clusterRole, name, uid: role.metadata.uid };
}

/** Whether every entry of the registration trusts the authority (PEM). */
export async function isTrusted(store: Pick<ClusterStore, "get">, authority: string): Promise<boolean> {
  const found = await store.get({ ...KINDS.mutatingWebhookConfiguration, name: WEBHOOK_CONFIGURATION });
  const entries = looseList(found?.webhooks);
  return (
    entries.length > 0 &&
    entries.every(({ clientConfig }) => {
      const { caBundle } = looseFields(clientConfig);
      return (
        typeof caBundle === "string" && Buffer.from(caBundle, "base64").toString().includes(authority.trim())
      );
    })
  );
}

/** As it is to be, every field said, so that what the API server would fill in makes no difference. */
export function configuration(options: RegistrationOptions, trusted: string): KubernetesObject {
  const excluded = expression(NAMESPACE_NAME, "NotIn", options.excludedNamespaces);
  const enabled = expression(PLACEMENT_LABEL, "In", [PLACEMENT_ENABLED]);
  const notEnabled = expression(PLACEMENT_LABEL, "NotIn", [PLACEMENT_ENABLED]);
  const inAppGroup = { key: LABELS.appGroup, operator: "Exists" };
  const common = {
    admissionReviewVersions: ["v1"],
    failurePolicy: "Ignore",
    matchPolicy: "Equivalent",
    sideEffects: "None",
    timeoutSeconds: Math.round(options.timeoutMs / 1000),
    // Others may label the pod after us; asked again, we add nothing twice.
    reinvocationPolicy: "IfNeeded",
  };
  const ofPods = {
    ...common,
    rules: [ruleFor("", "pods", ["CREATE"])],
    matchConditions: matchConditions(options.schedulerNames),
  };
  // The three take apart what they are asked about: no pod is asked about twice.
  const webhooks = [
    entryOf("namespace", [excluded, enabled], []),
    entryOf("pod", [excluded, notEnabled], [enabled]),
    entryOf("app-group", [excluded, notEnabled], [inAppGroup, notEnabled]),
  ].map((entry) => ({ ...entry, ...ofPods }));
  const ofSlices = {
    entry: "endpoint-slices" as const,
    name: "endpoint-slices.dispatch.isochrone.dev",
    namespaceSelector: {},
    objectSelector: { matchExpressions: [{ key: "kubernetes.io/service-name", operator: "Exists" }] },
    ...common,
    rules: [ruleFor("discovery.k8s.io", "endpointslices", ["CREATE", "UPDATE"])],
  };
  return {
    ...KINDS.mutatingWebhookConfiguration,
    metadata: {
      name: WEBHOOK_CONFIGURATION,
      labels: { "app.kubernetes.io/part-of": "isochrone", "app.kubernetes.io/managed-by": "isochrone" },
    },
    webhooks: [...webhooks, ...(options.endpointSlices ? [ofSlices] : [])].map(({ entry, ...rest }) => ({
      ...rest,
      clientConfig: clientConfig(options.target, entry, trusted),
    })),
  };
}

/** By which rules pods are asked about, as the registration says them. */
export function rulesOfRegistration(registration: KubernetesObject): GateRules {
  const [first] = looseList<Webhook>(registration.webhooks);
  const excluded = looseList<LabelExpression>(
    looseFields<LabelSelector>(first?.namespaceSelector).matchExpressions,
  ).find(({ key, operator }) => key === NAMESPACE_NAME && operator === "NotIn");
  const condition = looseList<MatchCondition>(first?.matchConditions).find(
    ({ name }) => name === SCHEDULER_CONDITION,
  );
  return {
    excludedNamespaces: new Set(textsOf(excluded?.values)),
    schedulerNames: new Set(textsOf(namesIn(looseText(condition?.expression)))),
  };
}

/** Of the condition below; none where others have written another one. */
function namesIn(expression: string): unknown {
  try {
    return JSON.parse(expression.slice(expression.lastIndexOf("[")));
  } catch {
    return [];
  }
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}

function entryOf(
  entry: Entry,
  namespaces: readonly object[],
  objects: readonly object[],
): { readonly entry: Entry; readonly name: string } & Record<string, unknown> {
  return {
    entry,
    name: `${entry}.placement.isochrone.dev`,
    namespaceSelector: { matchExpressions: namespaces },
    objectSelector: objects.length === 0 ? {} : { matchExpressions: objects },
  };
}

/**
 * What never waits isn't even asked about. The webhook knows these rules too: it may be asked by an older
 * registration.
 */
function matchConditions(schedulerNames: readonly string[]): object[] {
  const names = schedulerNames.map((name) => JSON.stringify(name)).join(", ");
  return [
    { name: "has-no-node", expression: "!has(object.spec.nodeName) || object.spec.nodeName == ''" },
    {
      name: "is-of-no-daemon-set",
      expression:
        "!has(object.metadata.ownerReferences) || !object.metadata.ownerReferences.exists(o, o.kind == 'DaemonSet')",
    },
    {
      name: SCHEDULER_CONDITION,
      expression: `!has(object.spec.schedulerName) || object.spec.schedulerName in [${names}]`,
    },
  ];
}

function ruleFor(apiGroup: string, resource: string, operations: readonly string[]): object {
  return {
    apiGroups: [apiGroup],
    apiVersions: ["v1"],
    operations,
    resources: [resource],
    scope: "Namespaced",
  };
}

function clientConfig(target: RegistrationTarget, entry: ReviewPath, trusted: string): object {
  const caBundle = Buffer.from(trusted).toString("base64");
  const path = pathOf(entry);
  return "url" in target
    ? { url: `${target.url}${path}`, caBundle }
    : { service: { ...target.service, path }, caBundle };
}

function expression(key: string, operator: "In" | "NotIn", values: readonly string[]): object {
  return { key, operator, values };
}

/**
 * Whether all that is wanted is there. Lists must be equal, but for conditions of selectors, of which there
 * may be more.
 */
function isCovered(wanted: unknown, found: unknown, name = ""): boolean {
  if (Array.isArray(wanted)) {
    if (!Array.isArray(found)) return false;
    if (name === "matchExpressions")
      return wanted.every((one: unknown) => found.some((other: unknown) => isCovered(one, other)));
    return (
      wanted.length === found.length && wanted.every((one: unknown, index) => isCovered(one, found[index]))
    );
  }
  if (typeof wanted !== "object" || wanted === null) return wanted === found;
  const fields = looseFields(found);
  return (
    fields === found &&
    Object.entries(wanted).every(([key, value]) => isCovered(value, fields[key], key)) &&
    // A selector that is empty takes everything; one that isn't any more takes less.
    (name !== "clientConfig" || Object.keys(fields).length === Object.keys(wanted).length)
  );
}
