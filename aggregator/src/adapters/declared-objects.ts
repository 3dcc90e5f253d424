// Channels declared by all objects. Limits bound the CPU time and memory that a namespace can cause.
import { isGeneratedAppGroup, keyOf } from "@isochrone/kubernetes/basics";
import type { AnnotatedChannel, KubernetesObject, ReportedEvent } from "@isochrone/kubernetes";
import {
  AppGroupMembers,
  DECLARATION_REFUSALS,
  fairLimit,
  resolveDeclarations,
  unmatchedSelectors,
  unmatchedText,
  type AppGroupText,
  type ChannelDeclaration,
  type DeclarationRefusal,
  type DeclarationRights,
  type DeclaredChannel,
} from "@isochrone/topology";
import {
  appGroupText,
  channelsOfAnnotation,
  channelsOfAppGroup,
  declaredCharacters,
  DEPENDENCIES_ANNOTATION,
  type OnRefused,
} from "./declared-channels.ts";

/** Limit per namespace: a thousand workloads with five callees each. */
export const MAX_CHANNELS_PER_NAMESPACE = 5_000;
export const MAX_CHARACTERS_PER_NAMESPACE = 2 * 1024 * 1024;
/** Limit for all namespaces. Namespaces below an equal share keep all their channels. */
export const MAX_CHANNELS_PER_CLUSTER = 50_000;
/** Objects per namespace with a message about a refusal. All refusals are counted. */
const MAX_NAMED_PER_NAMESPACE = 20;

/** Refusals of one object. `reason` is the first one. Selectors that match no pod count separately. */
export interface RefusedDeclarations {
  readonly reason: DeclarationRefusal;
  readonly rule: string;
  /** Refused channels or unmatched selectors. An unparsed annotation counts as one. */
  readonly channels: number;
}

/** Called once per object, and again whenever its refusals change. */
export type OnRefusedDeclarations = (object: KubernetesObject, refused: RefusedDeclarations) => void;

/** The Kubernetes event that shows a refusal in `kubectl describe`. */
export function refusedDeclarationEvent({ reason, rule, channels }: RefusedDeclarations): ReportedEvent {
  if (reason === "unmatched")
    return { type: "Warning", reason: "SelectorMatchesNothing", action: "ReadDeclarations", note: rule };
  const what = channels === 1 ? "1 declared channel is" : `${channels} declared channels are`;
  return {
    type: "Warning",
    reason: "DeclarationRefused",
    action: "ReadDeclarations",
    note: `${what} left out (${reason}): ${rule}`,
  };
}

export class DeclaredObjects {
  readonly #rights: DeclarationRights;
  readonly #onRefused: OnRefusedDeclarations;
  #kept: ReadonlyMap<string, Kept> = new Map();
  #told: ReadonlyMap<string, string> = new Map();
  #refused: ReadonlyMap<DeclarationRefusal, number> = new Map();

  constructor(rights: DeclarationRights, onRefused: OnRefusedDeclarations) {
    this.#rights = rights;
    this.#onRefused = onRefused;
  }

  get refused(): ReadonlyMap<DeclarationRefusal, number> {
    return this.#refused;
  }

  /**
   * An annotation overrides an AppGroup.
   * @param members null: not listed yet, so an unmatched selector is no error
   */
  read(
    appGroups: readonly KubernetesObject[],
    workloads: readonly KubernetesObject[],
    members: AppGroupMembers | null = null,
  ): readonly DeclaredChannel[] {
    const round = new Round(this.#kept, members);
    const declaring = [
      // A generated AppGroup repeats observed channels. Read as a declaration it would confirm itself
      // forever.
      ...appGroups.filter((object) => !isGeneratedAppGroup(object)),
      ...workloads.filter(({ metadata }) => metadata.annotations?.[DEPENDENCIES_ANNOTATION] !== undefined),
    ];
    const namespaces = [...Map.groupBy(declaring, namespaceOf).values()].map((objects) =>
      round.admit(objects),
    );
    const admitted = withinCluster(namespaces);
    const { channels, refused } = resolveDeclarations(
      [...admitted.filter(({ isGroup }) => isGroup), ...admitted.filter(({ isGroup }) => !isGroup)].flatMap(
        ({ channels }) => channels,
      ),
      this.#rights,
    );
    refuseForeign(admitted, new Set(refused));
    this.#kept = round.kept;
    this.#count(namespaces);
    this.#tell(namespaces);
    return channels;
  }

  #count(namespaces: readonly Admitted[][]): void {
    const counts = new Map<DeclarationRefusal, number>(DECLARATION_REFUSALS.map((reason) => [reason, 0]));
    for (const { refusals } of namespaces.flat())
      for (const [reason, { channels }] of refusals) counts.set(reason, counts.get(reason)! + channels);
    this.#refused = counts;
  }

  #tell(namespaces: readonly Admitted[][]): void {
    const told = new Map<string, string>();
    for (const objects of namespaces) {
      const faulty = objects.filter(({ refusals }) => refusals.size > 0);
      for (const { object, refusals } of faulty.slice(0, MAX_NAMED_PER_NAMESPACE)) {
        for (const refused of summaries(refusals)) {
          const { reason, rule, channels } = refused;
          const key = `${identity(object)}\n${reason === "unmatched" ? reason : ""}`;
          const text = `${reason}\n${rule}\n${channels}`;
          told.set(key, text);
          if (this.#told.get(key) !== text) this.#onRefused(object, refused);
        }
      }
    }
    this.#told = told;
  }
}

function summaries(refusals: ReadonlyMap<DeclarationRefusal, Refusal>): RefusedDeclarations[] {
  const all = [...refusals].map(([reason, refusal]) => ({ reason, ...refusal }));
  const [first, ...others] = all.filter(({ reason }) => reason !== "unmatched");
  const channels = others.reduce((sum, each) => sum + each.channels, first?.channels ?? 0);
  return [
    ...(first === undefined ? [] : [{ ...first, channels }]),
    ...all.filter(({ reason }) => reason === "unmatched"),
  ];
}

interface Refusal {
  readonly rule: string;
  readonly channels: number;
}

type Refusals = Map<DeclarationRefusal, Refusal>;

/** Parsed declarations of one object. The same object while its declarations are unchanged. */
interface Kept {
  readonly object: KubernetesObject;
  /** AppGroups are kept as parsed text, because their channels depend on the pods. */
  readonly declared: AppGroupText<AnnotatedChannel> | readonly ChannelDeclaration[];
  readonly refusals: ReadonlyMap<DeclarationRefusal, Refusal>;
}

interface Admitted {
  readonly object: KubernetesObject;
  readonly isGroup: boolean;
  channels: readonly ChannelDeclaration[];
  readonly refusals: Refusals;
}

const NOBODY = new AppGroupMembers({ members: [], groups: [], workloads: [] });

/** One pass over all objects. Objects that are missing from it are forgotten. */
class Round {
  readonly #before: ReadonlyMap<string, Kept>;
  readonly #members: AppGroupMembers | null;
  readonly kept = new Map<string, Kept>();

  constructor(before: ReadonlyMap<string, Kept>, members: AppGroupMembers | null) {
    this.#before = before;
    this.#members = members;
  }

  /** Admits the oldest objects of a namespace first, so that new objects cannot displace them. */
  admit(objects: readonly KubernetesObject[]): Admitted[] {
    let channelsLeft = MAX_CHANNELS_PER_NAMESPACE;
    let charactersLeft = MAX_CHARACTERS_PER_NAMESPACE;
    return objects.toSorted(byAge).map((object): Admitted => {
      const characters = declaredCharacters(object);
      const isGroup = object.kind === "AppGroup";
      if (channelsLeft <= 0 || characters > charactersLeft) {
        const refusals: Refusals = new Map([["namespace_limit", { rule: namespaceRule(), channels: 1 }]]);
        return { object, isGroup, channels: [], refusals };
      }
      charactersLeft -= characters;
      const { channels, refusals } = this.#channelsOf(this.#read(object));
      const kept = channels.slice(0, channelsLeft);
      const admitted: Admitted = { object, isGroup, channels: kept, refusals };
      if (kept.length < channels.length)
        add(admitted.refusals, "namespace_limit", namespaceRule(), channels.length - kept.length);
      // Invalid declarations count as well, because parsing them costs time.
      channelsLeft -= Math.max(1, kept.length);
      return admitted;
    });
  }

  #read(object: KubernetesObject): Kept {
    const key = identity(object);
    const before = this.#before.get(key);
    const same = before !== undefined && isSame(before.object, object) ? before : readNow(object);
    const kept = { ...same, object };
    this.kept.set(key, kept);
    return kept;
  }

  #channelsOf({ declared, refusals: known }: Kept): Pick<Admitted, "channels" | "refusals"> {
    const refusals: Refusals = new Map(known);
    if (!("id" in declared)) return { channels: declared, refusals };
    const channels = channelsOfAppGroup(declared, this.#members ?? NOBODY, noting(refusals));
    const unmatched = this.#members === null ? [] : unmatchedSelectors(declared, this.#members);
    if (unmatched.length > 0)
      add(refusals, "unmatched", unmatchedText(declared.id, unmatched), unmatched.length);
    return { channels, refusals };
  }
}

function readNow(object: KubernetesObject): Kept {
  const refusals: Refusals = new Map();
  const read = object.kind === "AppGroup" ? appGroupText : channelsOfAnnotation;
  return { object, declared: read(object, noting(refusals)), refusals };
}

function noting(refusals: Refusals): OnRefused {
  return (reason, rule, channels = 1) => add(refusals, reason, rule, channels);
}

/** Returns true if the declarations are equal. A Deployment's object changes with each of its pods. */
function isSame(before: KubernetesObject, now: KubernetesObject): boolean {
  if (before === now) return true;
  if (now.kind === "AppGroup") return false;
  const text = (object: KubernetesObject) => object.metadata.annotations?.[DEPENDENCIES_ANNOTATION];
  return text(before) === text(now);
}

/** Reduces each namespace to its share of the cluster's limit; the youngest objects lose first. */
function withinCluster(namespaces: readonly Admitted[][]): Admitted[] {
  const counts = namespaces.map((objects) =>
    objects.reduce((count, { channels }) => count + channels.length, 0),
  );
  const limit = fairLimit(counts, MAX_CHANNELS_PER_CLUSTER);
  for (const [index, objects] of namespaces.entries()) {
    if (counts[index]! <= limit) continue;
    let left = limit;
    for (const admitted of objects) {
      const { channels } = admitted;
      if (channels.length > left) {
        const rule = `all namespaces together may declare at most ${MAX_CHANNELS_PER_CLUSTER} channels, which leaves ${limit} for each that declares more`;
        admitted.channels = channels.slice(0, left);
        add(admitted.refusals, "cluster_limit", rule, channels.length - left);
      }
      left -= admitted.channels.length;
    }
  }
  return namespaces.flat();
}

function refuseForeign(admitted: readonly Admitted[], refused: ReadonlySet<ChannelDeclaration>): void {
  if (refused.size === 0) return;
  for (const { channels, refusals } of admitted) {
    for (const channel of channels) {
      if (!refused.has(channel)) continue;
      const { declaredIn, source, target } = channel;
      const between = `${source.namespace}/${source.name} -> ${target.namespace}/${target.name}`;
      const rule = `objects in ${declaredIn} may declare channels of workloads in ${declaredIn} to others, got ${between}; aggregator.declareFor allows more`;
      add(refusals, "other_namespace", rule, 1);
    }
  }
}

function add(refusals: Refusals, reason: DeclarationRefusal, rule: string, channels: number): void {
  const known = refusals.get(reason);
  refusals.set(reason, { rule: known?.rule ?? rule, channels: (known?.channels ?? 0) + channels });
}

function namespaceRule(): string {
  return `the objects of a namespace may declare at most ${MAX_CHANNELS_PER_NAMESPACE} channels in ${MAX_CHARACTERS_PER_NAMESPACE} characters of annotations; older objects come first`;
}

function namespaceOf({ metadata }: KubernetesObject): string {
  return metadata.namespace ?? "default";
}

function identity(object: KubernetesObject): string {
  return `${object.kind}/${keyOf(object)}`;
}

function byAge(a: KubernetesObject, b: KubernetesObject): number {
  return (
    compare(a.metadata.creationTimestamp ?? "", b.metadata.creationTimestamp ?? "") ||
    compare(identity(a), identity(b))
  );
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
