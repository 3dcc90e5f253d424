import { MAX_RTT_SECONDS, type Percentiles } from "@isochrone/telemetry";
import type { Link } from "@isochrone/topology";
import { costInterval, fewestSamples, PairErrors } from "@isochrone/topology/link-errors";
import type { LinkBandwidth } from "../bandwidth/bandwidth-view.ts";
import type { LinkReading } from "../baselines/pair-readings.ts";
import type { PairBaselines } from "../baselines/pair-baselines.ts";
import type { CostRule } from "./cost-rule.ts";
import type { Figures } from "./figures.ts";
import { ageSeconds, rfc3339 } from "./graph-time.ts";
import type { LinkChange } from "../links/link-change.ts";
import { lossRatioOf, type LinkPane } from "../links/link-counts.ts";
import type { LinkKey, LinkState } from "../links/links.ts";
import { panesOf, windowStartMs, type WindowName, type WindowShape } from "../windows/window-shape.ts";

/** Upper bound of round-trip times, ms. A bucket's middle may exceed the largest value by 2 %. */
const MAX_MS = MAX_RTT_SECONDS * 1000 * 1.02;

interface LinkContext {
  readonly shape: WindowShape;
  readonly rule: CostRule;
  readonly nowMs: number;
  readonly window: WindowName;
  readonly figures: Figures;
  /** Null: readings are not compared with baselines. */
  readonly baselines: Pick<PairBaselines, "add"> | null;
}

interface Reading {
  readonly pane: LinkPane | null;
  readonly percentiles: Percentiles | null;
  readonly change: LinkChange | null;
}

/** Builds the links of one graph in its order: methods of a pair are adjacent. */
export class LinkBuilder {
  readonly #context: LinkContext;
  readonly #panes: number;
  readonly #fewestSamples: number;
  readonly #errors: PairErrors;
  readonly #textOf: (timeMs: number) => string = rememberingText();
  readonly #paneTexts = new Map<number, string>();
  /** Newest cut found, for the pair's following methods. */
  #cut: { readonly key: LinkKey; readonly firstPane: number } | null = null;

  constructor(context: LinkContext, pairs: number) {
    this.#context = context;
    const { shape, rule, window } = context;
    this.#panes = panesOf(shape, window);
    this.#fewestSamples = fewestSamples(rule.quantile);
    this.#errors = new PairErrors((this.#panes * shape.paneMs) / 1000, pairs);
  }

  /** Sets the errors of all built links. Each error depends on the pair's other links. */
  writeErrors(): Generator<void> {
    return this.#errors.write();
  }

  build(link: LinkState, bandwidth: LinkBandwidth): Link {
    const { rule, nowMs, figures } = this.#context;
    const { pane, percentiles, change } = this.#readingOf(link);
    const rttMs = rttOf(pane, percentiles, figures);
    const { newestMs, answeredMs, key } = link;
    const built: Link = {
      ...key,
      rttMs,
      lossRatio: pane === null ? null : figures.of(lossRatioOf(pane), 1),
      jitterMs: pane === null ? null : figures.of(jitterMsOf(pane), MAX_MS),
      ...bandwidth,
      costMs: rule.methods.includes(key.method) ? costOf(pane, rttMs, rule, change, figures) : null,
      errorMs: null,
      origin: "measured",
      provisional: this.#isProvisional(link, pane, change),
      ageSeconds: ageSeconds(newestMs, nowMs),
      observedAt: this.#timeOf(newestMs),
      answeredAt: this.#timeOf(answeredMs),
      since: this.#sinceOf(change),
    };
    const interval = built.costMs === null ? null : costInterval(pane!.rtt!, rule.quantile);
    if (this.#context.baselines !== null && rule.methods.includes(key.method))
      this.#context.baselines.add(this.#pairReading(link, built, interval, change));
    if (interval !== null) this.#errors.add(built, link.pair, interval, (nowMs - answeredMs) / 1000);
    return built;
  }

  #pairReading(
    link: LinkState,
    { costMs, rttMs }: Link,
    interval: ReturnType<typeof costInterval>,
    change: LinkChange | null,
  ): LinkReading {
    const { shape, rule } = this.#context;
    const isKnown = interval !== null && rttMs.count >= this.#fewestSamples;
    const firstPane = change?.firstPane ?? null;
    // Losses of a cut do not count against a link that answers again.
    const isCut = change !== null && !change.isSettled;
    return {
      key: link.key,
      pair: link.pair,
      rank: rule.methods.indexOf(link.key.method),
      rtt: isKnown ? { valueMs: costMs!, ...interval } : null,
      sinceMs: firstPane === null ? null : firstPane * shape.paneMs,
      isCut,
      packets: link.takeFresh(isCut),
    };
  }

  /** Younger than the window, or too few samples. A cut needs losses, not samples. */
  #isProvisional(link: LinkState, pane: LinkPane | null, change: LinkChange | null): boolean {
    const { shape, nowMs } = this.#context;
    if (link.firstMs > windowStartMs(shape, nowMs, this.#panes)) return true;
    return pane !== null && change?.isCut !== true && (pane.rtt?.count ?? 0) < this.#fewestSamples;
  }

  #readingOf(link: LinkState): Reading {
    const before = this.#context.window === "full" ? link.change : null;
    const pane = this.#read(link, before);
    const percentiles = percentilesOf(pane);
    const change = this.#changeOf(link, percentiles?.p50 ?? null);
    if (change === before) return { pane, percentiles, change };
    const since = this.#read(link, change);
    return { pane: since, percentiles: percentilesOf(since), change };
  }

  #timeOf(timeMs: number): string | null {
    return Number.isFinite(timeMs) ? this.#textOf(timeMs) : null;
  }

  #sinceOf(change: LinkChange | null): string | null {
    const pane = change?.firstPane ?? null;
    if (pane === null) return null;
    let text = this.#paneTexts.get(pane);
    if (text === undefined) this.#paneTexts.set(pane, (text = rfc3339(pane * this.#context.shape.paneMs)));
    return text;
  }

  #changeOf(link: LinkState, medianSeconds: number | null): LinkChange | null {
    const { nowMs, window, shape } = this.#context;
    const own = window === "full" ? link.follow(nowMs, medianSeconds) : link.change;
    if (own?.isCut === true) {
      if (own.firstPane !== null) this.#cut = { key: link.key, firstPane: own.firstPane };
      return own;
    }
    const cut = this.#cut;
    // A slow method may not have had an answer since a cut seen by another method of the pair; its figures
    // then predate the cut.
    const isOlder =
      cut !== null && isSamePair(cut.key, link.key) && link.answeredMs < cut.firstPane * shape.paneMs;
    return isOlder ? { firstPane: cut.firstPane, lastPane: null, isCut: true, isSettled: false } : own;
  }

  #read(link: LinkState, change: LinkChange | null): LinkPane | null {
    const { nowMs, shape, window } = this.#context;
    if (change === null) return link.read(nowMs, this.#panes);
    const { firstPane, lastPane, isCut } = change;
    if (window === "full" && !isCut) return link.readSince(nowMs);
    const windowFirst = Math.floor(nowMs / shape.paneMs) - this.#panes + 1;
    const first = Math.max(firstPane ?? windowFirst, windowFirst);
    return link.readSpan(nowMs, first, lastPane ?? Number.POSITIVE_INFINITY);
  }
}

function isSamePair(a: LinkKey, b: LinkKey): boolean {
  return a.target === b.target && a.source === b.source && a.ipFamily === b.ipFamily;
}

/** If too few samples follow a change for p90, uses the nearest quantile they allow. */
function costOf(
  pane: LinkPane | null,
  rttMs: Link["rttMs"],
  { quantile }: CostRule,
  change: LinkChange | null,
  figures: Figures,
): number | null {
  const known = rttMs[quantile];
  if (known !== null || change === null || quantile !== "p90") return known;
  const seconds = pane?.rtt?.quantile(0.9) ?? null;
  return seconds === null ? null : figures.of(seconds * 1000, MAX_MS);
}

function percentilesOf(pane: LinkPane | null): Percentiles | null {
  return pane?.rtt?.percentiles() ?? null;
}

function jitterMsOf({ variationSeconds, variationCount }: LinkPane): number | null {
  return variationCount === 0 ? null : (variationSeconds / variationCount) * 1000;
}

function rttOf(pane: LinkPane | null, percentiles: Percentiles | null, figures: Figures): Link["rttMs"] {
  const rtt = pane?.rtt ?? null;
  if (rtt === null || rtt.count === 0 || percentiles === null)
    return { p50: null, p90: null, p99: null, mean: null, count: 0 };
  const { p50, p90, p99 } = percentiles;
  const toMs = (seconds: number | null): number | null =>
    seconds === null ? null : figures.of(seconds * 1000, MAX_MS);
  return { p50: toMs(p50), p90: toMs(p90), p99: toMs(p99), mean: toMs(rtt.mean), count: rtt.count };
}

/** Cache: links of a probe share times, and formatting costs as much as the rest of a link. */
function rememberingText(): (timeMs: number) => string {
  let lastMs = Number.NaN;
  let text = "";
  return (timeMs) => {
    if (timeMs !== lastMs) text = rfc3339(timeMs);
    lastMs = timeMs;
    return text;
  };
}
