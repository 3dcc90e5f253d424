import type { VNode } from "preact";
import { age, plural } from "../model/format.ts";
import type { ClusterView } from "../model/cluster-view.ts";
import { askingWords } from "../model/pace.ts";
import { askedMs, cluster, connection, digest, failure, moment, nowMs } from "../state/store.ts";

const OLD_SECONDS = 30;

export function Status(): VNode {
  const { state, words, change } = statusOf();
  return (
    <section class={`status ${state}`} aria-label="How fresh this is">
      <i class="dot" aria-hidden="true" />
      <p id="freshness">{words}</p>
      {connection.value.news === null ? null : <p class="news">{connection.value.news}</p>}
      <p id="change" class="unseen" role="status">
        {connection.value.news ?? change}
      </p>
    </section>
  );
}

interface Said {
  readonly state: "good" | "warn" | "bad" | "past" | "quiet";
  readonly words: string;
  /** Screen readers get changes, not the age each second. */
  readonly change: string;
}

function statusOf(): Said {
  const view = cluster.value;
  const fault = failure.value;
  if (view === null) {
    const words = fault?.text ?? "loading …";
    return { state: fault === null || fault.isSignedOut ? "quiet" : "bad", words, change: fault?.text ?? "" };
  }
  const ageSeconds = (nowMs.value - Date.parse(view.observedAt)) / 1000;
  if (fault !== null) {
    const words = `${fault.text}; showing what was known ${age(ageSeconds)} ago`;
    return { state: "bad", words, change: fault.text };
  }
  return statusOfGraph(view, ageSeconds);
}

function statusOfGraph(view: ClusterView, ageSeconds: number): Said {
  const size = `${plural(view.size, "node")}, ${plural(view.pairs.column.length, "pair")}`;
  const old = age(ageSeconds);
  if (moment.value !== "")
    return {
      state: "past",
      words: `the past: graph ${view.version}, ${old} ago, ${size}`,
      change: "showing the past",
    };
  if (connection.value.state === "lost") {
    const lostMs = nowMs.value - (connection.value.sinceMs ?? nowMs.value);
    const since = lostMs < 1000 ? "" : ` for ${age(lostMs / 1000)}`;
    const words = `the event stream is lost${since}; ${askingWords(askedMs.value, nowMs.value)}; graph ${old} old, ${size}`;
    return { state: "warn", words, change: "the event stream is lost; trying again" };
  }
  if (ageSeconds > OLD_SECONDS)
    return {
      state: "bad",
      words: `graph ${view.version} is ${old} old, ${size}`,
      change: "the graph is old",
    };
  const silent = digest.value?.summary.dead ?? 0;
  const without = silent > 0 ? `, ${plural(silent, "pair")} without an answer` : "";
  const words = `live, ${size}${without}, window ${age(view.windowSeconds)}`;
  return { state: silent > 0 ? "warn" : "good", words, change: "connected" };
}
