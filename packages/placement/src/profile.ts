import { DEFAULT_BYTES_PER_REQUEST } from "./scoring/channel-traffic.ts";
import { DEFAULT_MIN_SPREAD } from "./scoring/combine.ts";
import { CombinedStrategy } from "./scoring/combined-strategy.ts";
import { ChannelTypes } from "./communication-affinity/channel-types.ts";
import {
  COMMUNICATION_AFFINITY,
  CommunicationAffinity,
  DEFAULT_AFFINITY,
} from "./communication-affinity/communication-affinity.ts";
import { PlacementError } from "./scoring/errors.ts";
import {
  createNetworkOverhead,
  NETWORK_OVERHEAD,
  NETWORK_OVERHEAD_MODES,
} from "./network-overhead/network-overhead.ts";
import type { NetworkOverheadMode } from "./network-overhead/network-overhead.ts";
import {
  DEFAULT_WEIGHTS,
  RESOURCE_NETWORK,
  RESOURCE_NETWORK_MODES,
  ResourceNetwork,
} from "./resource-network/resource-network.ts";
import type { ResourceNetworkMode, ResourceNetworkWeights } from "./resource-network/resource-network.ts";
import { COMBINATION_MODES } from "./scoring/strategy.ts";
import type { CombinationMode, Strategy } from "./scoring/strategy.ts";

const STRATEGIES = [RESOURCE_NETWORK, COMMUNICATION_AFFINITY, NETWORK_OVERHEAD] as const;
type StrategyName = (typeof STRATEGIES)[number];

/** Modes of each strategy, the default first. */
const MODES: Readonly<Record<StrategyName, readonly string[]>> = {
  [RESOURCE_NETWORK]: RESOURCE_NETWORK_MODES,
  [COMMUNICATION_AFFINITY]: COMBINATION_MODES,
  [NETWORK_OVERHEAD]: NETWORK_OVERHEAD_MODES,
};

const SHARED = { bytesPerRequest: DEFAULT_BYTES_PER_REQUEST, minSpread: DEFAULT_MIN_SPREAD };

const DEFAULTS: Readonly<Record<StrategyName, Readonly<Record<string, number>>>> = {
  [RESOURCE_NETWORK]: { ...DEFAULT_WEIGHTS, ...SHARED },
  [COMMUNICATION_AFFINITY]: { ...DEFAULT_AFFINITY, ...SHARED },
  [NETWORK_OVERHEAD]: { bytesPerRequest: DEFAULT_BYTES_PER_REQUEST },
};

export const STRATEGY_MODES: readonly string[] = [...new Set(Object.values(MODES).flat())];

export interface StrategyProfile {
  /** `NAME[/MODE][=WEIGHT]`, separated by commas. Weights need not add up to 1. */
  readonly strategy: string;
  /** Applies to strategies without their own mode. @default each strategy's own */
  readonly mode?: string | null;
  /**
   * Settings by name for all strategies that have them, or by `NAME.setting` for one. In `resource-network`,
   * one weight of a pair determines the other.
   */
  readonly settings?: Readonly<Record<string, number>>;
  readonly channelPriorities?: string;
}

interface ResolvedProfile extends StrategyProfile {
  readonly settings: Readonly<Record<string, number>>;
  /** "": communication-affinity's own types. */
  readonly channelPriorities: string;
}

/** Creates a strategy. Throws PlacementError. */
export function createStrategy(profile: StrategyProfile): Strategy {
  const entries = readEntries(profile.strategy);
  // Report invalid types even if no strategy of the profile reads them.
  const channelTypes = ChannelTypes.parse(profile.channelPriorities ?? "");
  const strategies = entries.map(({ name, mode }) =>
    createOne(name, mode ?? profile.mode ?? null, profile.settings ?? {}, channelTypes),
  );
  checkSettings(profile.settings ?? {}, entries);
  if (entries.length === 1) return strategies[0]!;
  const total = entries.reduce((sum, { weight }) => sum + weight, 0);
  if (!(total > 0))
    throw invalid(`the weights of strategy must add up to more than 0, got ${profile.strategy}`);
  return new CombinedStrategy(
    entries.map(({ name }) => name).join("+"),
    strategies.map((strategy, index) => ({ strategy, weight: entries[index]!.weight / total })),
  );
}

/** Fills in all defaults and drops unused settings, so that scores stay equal if defaults change. */
export function resolvedProfile(profile: StrategyProfile): ResolvedProfile {
  const entries = readEntries(profile.strategy);
  const settings: Record<string, number> = {};
  for (const { name } of entries) {
    const own = settingsOf(name, profile.settings ?? {});
    const weights = name === RESOURCE_NETWORK ? resolveWeights(own) : {};
    const all: Readonly<Record<string, number>> = { ...DEFAULTS[name], ...own, ...weights };
    for (const [setting, value] of Object.entries(all)) settings[`${name}.${setting}`] = value;
  }
  const texts = entries.map(({ name, mode, weight }) => {
    const share = entries.length === 1 ? "" : `=${weight}`;
    return `${name}/${mode ?? profile.mode ?? MODES[name][0]!}${share}`;
  });
  const types = entries.some(({ name }) => name === COMMUNICATION_AFFINITY) ? profile.channelPriorities : "";
  return { strategy: texts.join(","), settings, channelPriorities: types ?? "" };
}

interface Entry {
  readonly name: StrategyName;
  readonly mode: string | null;
  readonly weight: number;
}

function readEntries(text: string): Entry[] {
  const entries = text.split(",").map(readEntry);
  const names = entries.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined) throw invalid(`strategy must name each strategy once, got ${twice} twice`);
  return entries;
}

function readEntry(entry: string): Entry {
  const [, name = "", mode = null, weight] =
    /^\s*([^/=\s]+)(?:\/([^/=\s]+))?(?:\s*=\s*([^/=\s]+))?\s*$/.exec(entry) ?? [];
  if (!isStrategy(name)) {
    throw new PlacementError(
      "unknown_strategy",
      `strategy must be one of ${STRATEGIES.join(", ")}, got ${entry.trim()}`,
    );
  }
  const share = weight === undefined ? 1 : Number(weight);
  if (!(share >= 0 && share < Infinity))
    throw invalid(`the weight of ${name} must be a finite number of at least 0, got ${weight}`);
  return { name, mode, weight: share };
}

function isStrategy(name: string): name is StrategyName {
  return STRATEGIES.some((known) => known === name);
}

function createOne(
  name: StrategyName,
  wanted: string | null,
  given: Readonly<Record<string, number>>,
  channelTypes: ChannelTypes,
): Strategy {
  const mode = wanted ?? MODES[name][0]!;
  if (!MODES[name].includes(mode)) {
    throw new PlacementError(
      "unknown_mode",
      `mode of ${name} must be one of ${MODES[name].join(", ")}, got ${mode}`,
    );
  }
  const settings = settingsOf(name, given);
  const { bytesPerRequest = DEFAULT_BYTES_PER_REQUEST, minSpread = DEFAULT_MIN_SPREAD } = settings;
  switch (name) {
    case RESOURCE_NETWORK:
      return new ResourceNetwork(
        mode as ResourceNetworkMode,
        resolveWeights(settings),
        bytesPerRequest,
        minSpread,
      );
    case COMMUNICATION_AFFINITY:
      return new CommunicationAffinity(mode as CombinationMode, {
        parameters: { ...DEFAULT_AFFINITY, ...pick(settings, Object.keys(DEFAULT_AFFINITY)) },
        channelTypes,
        bytesPerRequest,
        minSpread,
      });
    case NETWORK_OVERHEAD:
      return createNetworkOverhead(mode as NetworkOverheadMode, bytesPerRequest);
    default:
      return name satisfies never;
  }
}

function namesOf(name: StrategyName): string[] {
  return Object.keys(DEFAULTS[name]);
}

type Settings = Partial<Readonly<Record<string, number>>>;

function settingsOf(name: StrategyName, settings: Readonly<Record<string, number>>): Record<string, number> {
  const own: Record<string, number> = pick(settings, namesOf(name));
  for (const setting of namesOf(name)) {
    const qualified = settings[`${name}.${setting}`];
    if (qualified !== undefined) own[setting] = qualified;
  }
  return own;
}

function pick(settings: Settings, names: readonly string[]): Record<string, number> {
  const picked: Record<string, number> = {};
  for (const name of names) if (settings[name] !== undefined) picked[name] = settings[name];
  return picked;
}

/** Rejects misspelt names, which would silently have no effect. Accepts settings of unused strategies. */
function checkSettings(settings: Readonly<Record<string, number>>, entries: readonly Entry[]): void {
  const plain = [...new Set(entries.flatMap(({ name }) => namesOf(name)))];
  const qualified = STRATEGIES.flatMap((name) => namesOf(name).map((setting) => `${name}.${setting}`));
  for (const name of Object.keys(settings)) {
    if (!plain.includes(name) && !qualified.includes(name))
      throw invalid(`settings must be of ${plain.join(", ")}, got ${name}`);
  }
}

function resolveWeights(settings: Partial<ResourceNetworkWeights>): ResourceNetworkWeights {
  const [alpha, beta] = pair(settings.alpha, settings.beta);
  const [gamma, delta] = pair(settings.gamma, settings.delta);
  return { alpha, beta, gamma, delta };
}

function pair(first: number | undefined, second: number | undefined): [number, number] {
  if (first === undefined && second === undefined) return [0.5, 0.5];
  return [first ?? 1 - second!, second ?? 1 - first!];
}

function invalid(message: string): PlacementError {
  return new PlacementError("invalid_setting", message);
}
