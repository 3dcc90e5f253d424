// Gate and webhook checks: whether gates get opened, the webhook is reachable, and pods were created without
// its answer.
import {
  hasCondition,
  hasOurGate,
  isOnlyOurGate,
  isStoreError,
  GATE_DEADLINE_MS,
  KINDS,
  LABELS,
  MOVE_TO_ANNOTATION,
  MOVING_ANNOTATION,
  pickedFields,
  readRelease,
  WEBHOOK_CONFIGURATION,
} from "@isochrone/kubernetes";
import { looseFields, looseList, looseText } from "@isochrone/primitives";
import type { ClusterStore, KindRef, KubernetesObject } from "@isochrone/kubernetes";
import { isUnanswered, rulesOfRegistration } from "@isochrone/scheduler-plugin/webhook-rules";
import { NAME_A_CLUSTER, ok, skipped, verdict } from "./finding.ts";
import type { Verdict } from "./finding.ts";
import { isAllowed } from "./rbac.ts";
import type { Installation } from "./rbac-files.ts";
import { samplesOf } from "./sources.ts";

interface GateFacts {
  readonly gated: readonly { readonly pod: string; readonly ageMs: number; readonly isOursAlone: boolean }[];
  readonly leftReleased: readonly string[];
  readonly moving: readonly string[];
  readonly openerTrouble: string | null;
  /** Null: not registered. */
  readonly registration: RegistrationFacts | null;
}

interface RegistrationFacts {
  readonly target: string;
  /** Why it is unreachable; null: reachable or unknown. */
  readonly trouble: string | null;
  /** Pods that request the gate and were created after the registration without an answer. */
  readonly unanswered: readonly string[];
  /** Calls the API server skipped since its start; null: unknown. */
  readonly failedOpen: number | null;
}

interface GateQuestion {
  readonly store: ClusterStore;
  readonly installation: Installation;
  readonly metrics: () => Promise<string | null>;
  readonly nowMs: () => number;
}

const FAIL_OPEN_METRIC = "apiserver_admission_webhook_fail_open_count";
const OURS = /name="[^"]*\.placement\.isochrone\.dev"/;
const SHOWN = 5;
/** Twice the default deadline, since the opener's may differ. */
const TOO_LONG_MS = 2 * GATE_DEADLINE_MS;

export async function lookAtGates(question: GateQuestion): Promise<GateFacts> {
  const { store, installation, nowMs } = question;
  const { items: pods } = await store.list(KINDS.pod, { trim: trimmedPod });
  const registration = await store.get({
    ...KINDS.mutatingWebhookConfiguration,
    name: WEBHOOK_CONFIGURATION,
  });
  const isLate = (pod: KubernetesObject): boolean =>
    (readRelease(pod)?.deadlineMs ?? Infinity) + TOO_LONG_MS < nowMs();
  return {
    gated: pods.filter(hasOurGate).map((pod) => ({
      pod: nameOf(pod),
      ageMs: nowMs() - createdMs(pod),
      isOursAlone: isOnlyOurGate(pod),
    })),
    leftReleased: pods.filter(isLate).map(nameOf),
    moving: pods.flatMap((pod) => {
      const to = readRelease(pod)?.to ?? pod.metadata.annotations?.[MOVE_TO_ANNOTATION];
      const isMoving = to !== undefined && pod.metadata.deletionTimestamp === undefined && !isLate(pod);
      return isMoving ? [`${nameOf(pod)} to ${to}`] : [];
    }),
    openerTrouble: await openerTrouble(store, pods, installation),
    registration: registration === null ? null : await lookAtRegistration(question, registration, pods),
  };
}

/** @param facts null: not checked, see `why` */
export function judgeGates(facts: GateFacts | null, why: string): Verdict[] {
  if (facts === null) {
    const rule = "no pod waits without somebody who opens its gate";
    return [skipped({ check: "gates", looked: "pods", rule, why, remedy: NAME_A_CLUSTER })];
  }
  const { registration } = facts;
  return [
    gatedVerdict(facts),
    openerVerdict(facts),
    movingVerdict(facts),
    ...(registration === null ? [unregistered()] : registrationVerdicts(registration)),
  ];
}

async function openerTrouble(
  store: ClusterStore,
  pods: readonly KubernetesObject[],
  { release, namespace }: Installation,
): Promise<string | null> {
  const isReady = pods.some(
    (pod) =>
      pod.metadata.namespace === namespace &&
      pod.metadata.labels?.[APP_NAME] === "isochrone-aggregator" &&
      hasCondition(pod, "Ready"),
  );
  if (!isReady) return `no aggregator is ready in namespace ${namespace}`;
  const account = `${release}-aggregator`;
  const user = `system:serviceaccount:${namespace}:${account}`;
  const mayOpen = await isAllowed(store, { verb: "patch", group: "", resource: "pods" }, user);
  return mayOpen ? null : `${account} may not patch pods, as with gates.enabled=false`;
}

async function lookAtRegistration(
  { store, metrics }: GateQuestion,
  registration: KubernetesObject,
  pods: readonly KubernetesObject[],
): Promise<RegistrationFacts> {
  const [webhook] = looseList<Record<"clientConfig", unknown>>(registration.webhooks);
  const { service, url } = looseFields<Record<"service" | "url", unknown>>(webhook?.clientConfig);
  const found =
    service === undefined
      ? { target: looseText(url), trouble: null }
      : await lookAtService(store, looseFields(service));
  return {
    ...found,
    unanswered: await unansweredPods(store, registration, pods),
    failedOpen: failedOpenIn(await metrics()),
  };
}

async function lookAtService(
  store: ClusterStore,
  { namespace: rawNamespace, name: rawName, port = 443 }: Readonly<Record<string, unknown>>,
): Promise<{ readonly target: string; readonly trouble: string | null }> {
  const [namespace, name] = [looseText(rawNamespace), looseText(rawName)];
  const target = `Service ${namespace}/${name}, port ${Number(port)}`;
  const found = await store.get({ ...KINDS.service, namespace, name });
  if (found === null) return { target, trouble: "there is no such Service" };
  if (!looseList(found.spec?.ports).some((one) => one.port === port))
    return { target, trouble: "the Service hasn't that port" };
  const { items: slices } = await store.list(KINDS.endpointSlice, { namespace });
  const isServed = slices
    .filter(({ metadata }) => metadata.labels?.[SERVICE_NAME] === name)
    .flatMap((slice) => looseList(slice.endpoints))
    .some(({ conditions }) => looseFields<Record<"ready", unknown>>(conditions).ready !== false);
  return { target, trouble: isServed ? null : "none of its pods is ready" };
}

async function unansweredPods(
  store: ClusterStore,
  registration: KubernetesObject,
  pods: readonly KubernetesObject[],
): Promise<string[]> {
  const namespaces = await byName(store, KINDS.namespace);
  const appGroups = await byName(store, KINDS.appGroup);
  const rules = rulesOfRegistration(registration);
  return pods
    .filter((pod) => {
      const { namespace = "default", labels } = pod.metadata;
      const appGroup = appGroups.get(`${namespace}/${labels?.[LABELS.appGroup] ?? ""}`) ?? null;
      const around = { namespace: namespaces.get(`/${namespace}`) ?? null, appGroup };
      return createdMs(pod) >= createdMs(registration) && isUnanswered({ pod, ...around }, rules);
    })
    .map(nameOf);
}

async function byName(store: ClusterStore, kind: KindRef): Promise<Map<string, KubernetesObject>> {
  try {
    const { items } = await store.list(kind, { metadataOnly: true });
    return new Map(items.map((one) => [`${one.metadata.namespace ?? ""}/${one.metadata.name}`, one]));
  } catch (error) {
    if (isStoreError(error, "not_found")) return new Map();
    throw error;
  }
}

function failedOpenIn(metrics: string | null): number | null {
  if (metrics === null) return null;
  const ours = samplesOf(metrics, FAIL_OPEN_METRIC).filter(({ labels }) => OURS.test(labels));
  return ours.reduce((sum, { value }) => sum + value, 0);
}

function gatedVerdict({ gated, openerTrouble }: GateFacts): Verdict {
  const late = gated.filter(({ ageMs, isOursAlone }) => isOursAlone && ageMs > TOO_LONG_MS);
  const oldestSeconds = Math.round(Math.max(0, ...gated.map(({ ageMs }) => ageMs)) / 1000);
  const which = late.length === 0 ? "" : `, too long: ${shown(late.map(({ pod }) => pod))}`;
  return verdict(late.length === 0, openerTrouble === null ? "warning" : "error", {
    check: "pods with the gate",
    looked: "pods",
    value: gated.length === 0 ? "none" : `${gated.length}, the oldest ${oldestSeconds} s old${which}`,
    rule: `none waits for us alone for longer than ${TOO_LONG_MS / 1000} s`,
    remedy: "Run `isochrone gates open --all`; then check that an aggregator can open gates (docs/gates.md).",
  });
}

function openerVerdict({ gated, openerTrouble, registration }: GateFacts): Verdict {
  const parts = {
    check: "opener of late gates",
    looked: "aggregator pods, and what their account may do",
    rule: "an aggregator that may open gates, wherever pods get them",
  };
  if (openerTrouble === null) return ok({ ...parts, value: "the aggregator" });
  const remedy =
    "Set settings.gates.enabled to true in the chart's values; until then `isochrone gates open --all`.";
  if (gated.length > 0)
    return verdict(false, "error", {
      ...parts,
      value: `${openerTrouble}, while ${gated.length} pods wait: ${shown(gated.map(({ pod }) => pod))}`,
      remedy,
    });
  return verdict(false, registration === null ? "info" : "error", { ...parts, value: openerTrouble, remedy });
}

function movingVerdict({ leftReleased, moving }: GateFacts): Verdict {
  const parts = {
    check: "moving pods",
    looked: `pods annotated ${MOVING_ANNOTATION} or ${MOVE_TO_ANNOTATION}`,
    rule: "each is evicted or back in its ReplicaSet soon after its deadline",
  };
  const [late, open] = [leftReleased, moving].map((names) => `${names.length}: ${shown(names)}`);
  if (leftReleased.length > 0)
    return verdict(false, "warning", {
      ...parts,
      value: `${late}${moving.length > 0 ? `; under way ${open}` : ""}`,
      remedy:
        "Run `isochrone gates open --all`, which gives them back; then check that the descheduler runs in mode evict.",
    });
  if (moving.length === 0) return ok({ ...parts, value: "none" });
  return verdict(false, "info", {
    ...parts,
    value: `none is late, under way ${open}`,
    remedy:
      "If nobody is moving them, `isochrone plan NAMESPACE --undo` ends an interrupted `--apply`, and `isochrone gates open --all` gives released pods back.",
  });
}

function unregistered(): Verdict {
  const looked = `MutatingWebhookConfiguration ${WEBHOOK_CONFIGURATION}`;
  return ok({ check: "webhook", looked, value: "not registered", rule: "" });
}

function registrationVerdicts({ target, trouble, unanswered, failedOpen }: RegistrationFacts): Verdict[] {
  const since = failedOpen === null ? "" : `; the API server continued without it ${failedOpen} times`;
  return [
    verdict(trouble === null, "error", {
      check: "webhook",
      looked: `MutatingWebhookConfiguration ${WEBHOOK_CONFIGURATION}`,
      value: trouble === null ? `registered at ${target}` : `registered at ${target}: ${trouble}`,
      rule: "the API server reaches what is registered",
      remedy:
        "If the webhook was switched off, delete the registration with `isochrone gates open --all --remove-webhook`; otherwise check why the scheduler-plugin isn't ready.",
    }),
    verdict(unanswered.length === 0, "warning", {
      check: "pods without the webhook's answer",
      looked: `pods that ask for the gate, and ${FAIL_OPEN_METRIC} of the API server`,
      value: `${unanswered.length === 0 ? "none" : `${unanswered.length}: ${shown(unanswered)}`}${since}`,
      rule: "pods that ask for the gate were created with the webhook's answer",
      remedy:
        "They were placed without a plan: `kubectl rollout restart` their workloads. For causes see docs/runbooks/IsochroneWebhookUnanswered.md.",
    }),
  ];
}

const APP_NAME = "app.kubernetes.io/name";
const SERVICE_NAME = "kubernetes.io/service-name";

/** Keeps only the fields read of up to 100,000 pods. */
function trimmedPod({
  apiVersion,
  kind,
  metadata,
  spec = {},
  status = {},
}: KubernetesObject): KubernetesObject {
  return {
    apiVersion,
    kind,
    metadata,
    spec: pickedFields(spec, ["schedulingGates", "schedulerName", "priorityClassName"]),
    status: pickedFields(status, ["conditions"]),
  };
}

function createdMs({ metadata }: KubernetesObject): number {
  return Date.parse(metadata.creationTimestamp ?? "");
}

function nameOf({ metadata }: KubernetesObject): string {
  return `${metadata.namespace ?? "default"}/${metadata.name}`;
}

function shown(names: readonly string[]): string {
  const more = names.length - SHOWN;
  return `${names.slice(0, SHOWN).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
