import type { ClusterGraphSnapshot, Link, LinkDistributions, LinkHistory } from "@isochrone/topology";
import type { VNode } from "preact";
import { useMemo, useState } from "preact/hooks";
import { age, bitsPerSecond, clockTime, figure, milliseconds, percent } from "../../model/format.ts";
import { promqlOf } from "../../model/promql.ts";
import { Card, Empty, Loading, Name, Table, Tile, Trouble } from "../../parts/common.tsx";
import { useJson } from "../../parts/ask.ts";
import { TimePlot } from "../../parts/plot.tsx";
import { hasEmulator } from "../../state/emulator.ts";
import { downWords } from "../../model/cluster-view.ts";
import { cluster, linkTo, moment, nowMs, route } from "../../state/store.ts";
import { Distribution } from "./distribution.tsx";
import { Histogram } from "./histogram.tsx";
import { PairControls } from "./pair-controls.tsx";
import { LossOverTime, LostPackets } from "./pair-loss.tsx";
import {
  believed,
  errorNote,
  isCut,
  lastAnswer,
  METHOD_NAMES,
  noAnswerText,
  type KnownLink,
} from "./pair-model.ts";

export function PairPage(props: { readonly source: string; readonly target: string }): VNode {
  const { source, target } = props;
  const names = `nodes=${encodeURIComponent(`${source},${target}`)}`;
  const answer = useJson<ClusterGraphSnapshot>(`api/v1/graph/cluster?${names}&include=estimated`);
  const pair = `source=${encodeURIComponent(source)}&target=${encodeURIComponent(target)}`;
  const past = useJson<LinkHistory>(`api/v1/graph/history/link?${pair}`, { isOfNow: true });
  const graph = answer.data;
  return (
    <>
      <div class="page-head">
        <p class="crumbs">
          <a href={linkTo({ page: "network", view: "matrix" })}>Network</a>
        </p>
        <h1>
          <Name>{source}</Name> <span aria-label="to">→</span> <Name>{target}</Name>
        </h1>
        <a class="button" href={linkTo({ page: "pair", source: target, target: source })}>
          Show the way back
        </a>
      </div>
      {hasEmulator && moment.value === "" ? <PairControls source={source} target={target} /> : null}
      {graph === null ? (
        answer.failure === null ? (
          <Loading lines={5} />
        ) : answer.status === 404 ? (
          <Empty title="This pair of nodes doesn't exist">
            The aggregator says: {answer.failure.text}. A node may have been removed, or the address of this
            page is wrong.
          </Empty>
        ) : (
          <Trouble title="This pair can't be shown">{answer.failure.text}</Trouble>
        )
      ) : (
        <PairBody graph={graph} past={past.data} source={source} target={target} />
      )}
    </>
  );
}

interface BodyProps {
  readonly graph: ClusterGraphSnapshot;
  readonly past: LinkHistory | null;
  readonly source: string;
  readonly target: string;
}

function PairBody({ graph, past, source, target }: BodyProps): VNode {
  const known = new Set(graph.nodes.map(({ name }) => name));
  const missing = [source, target].filter((name) => !known.has(name));
  if (missing.length > 0)
    return (
      <Empty
        title={`${missing.join(" and ")} ${missing.length === 1 ? "doesn't" : "don't"} exist in the cluster`}
      >
        No node has that name{moment.value === "" ? "" : " at this time"}: it may have been removed, or the
        address of this page is wrong.
      </Empty>
    );
  const links = graph.links.filter((link) => link.source === source && link.target === target);
  const best = believed(links, graph.costMethods ?? []);
  if (best === null)
    return (
      <Empty title="Nothing is known of this pair">
        Nobody probes it, and there are no coordinates to estimate it from.
      </Empty>
    );
  const back = believed(
    graph.links.filter((link) => link.source === target && link.target === source),
    graph.costMethods ?? [],
  );
  return (
    <>
      <Silence graph={graph} link={best} past={past} />
      <Facts link={best} back={back} past={past} />
      <div class="columns">
        <Card title="Distribution">
          <Times source={source} target={target} links={links} />
        </Card>
        <Card title="Over time">
          <Past past={past} />
          <LossOverTime past={past} />
        </Card>
      </div>
      <Card title="By method" aside={<CopyQuery source={source} target={target} method={best.method} />}>
        <Methods links={links} />
      </Card>
    </>
  );
}

function Times(props: Omit<BodyProps, "graph" | "past"> & { readonly links: readonly Link[] }): VNode {
  const { source, target, links } = props;
  const isPast = moment.value !== "";
  const isSilent = links.some(isCut) && links.every(({ rttMs }) => rttMs.count === 0);
  const query = `source=${encodeURIComponent(source)}&target=${encodeURIComponent(target)}`;
  const { data, failure } = useJson<LinkDistributions>(
    isPast || isSilent ? null : `api/v1/graph/link?${query}`,
    {
      isOfNow: true,
    },
  );
  if (isSilent) return <LostPackets links={links} />;
  if (isPast)
    return (
      <>
        <Distribution links={links} />
        <p class="soft">
          A box goes from the median to p90, its line to p99, the dot is the mean. Of the past only these are
          kept.
        </p>
      </>
    );
  if (data !== null && data.distributions.length > 0)
    return (
      <>
        <Histogram distributions={data.distributions} links={links} />
        <p class="soft">Answers of the last {age(data.windowSeconds)}; point at a bar for its figures.</p>
      </>
    );
  return data === null && failure === null ? <Loading /> : <Distribution links={links} />;
}

function Silence(props: Pick<BodyProps, "graph" | "past"> & { readonly link: KnownLink }): VNode | null {
  const { graph, past, link } = props;
  const view = cluster.value!;
  const atMs = moment.value === "" ? nowMs.value : Date.parse(moment.value);
  const down = graph.nodes.flatMap((node) => downWords(node, (at) => clockTime(at, atMs)) ?? []);
  const costs = view.pairs.figures.costMs;
  const worstMs = useMemo(
    () => costs.reduce((most, ms) => (ms > most || Number.isNaN(most) ? ms : most), Number.NaN),
    [costs],
  );
  if (down.length === 0 && !isCut(link)) return null;
  return (
    <p class="verdict bad" id="silence">
      {down.length > 0
        ? `${down.join(". ")}. Nothing is placed on a node that is down.`
        : noAnswerText(lastAnswer(link, past), worstMs, atMs)}
    </p>
  );
}

interface FactsProps {
  readonly link: KnownLink;
  readonly back: Link | null;
  readonly past: LinkHistory | null;
}

function Facts({ link, back, past }: FactsProps): VNode {
  const isDead = link.lossRatio === 1;
  const note = link.origin === "measured" ? (METHOD_NAMES[link.method] ?? link.method) : link.origin;
  return (
    <dl class="tiles">
      <Tile
        label="Median round trip"
        value={isDead ? "no answer" : milliseconds(roundTrip(link))}
        note={note}
        {...(isDead ? { state: "bad" as const } : {})}
      />
      <Tile
        label="The way back"
        value={back !== null && isCut(back) ? "no answer" : milliseconds(roundTrip(back))}
        note={back === null ? "not known" : back.origin}
      />
      <Tile label="Cost for placement" value={milliseconds(link.costMs)} note={errorNote(link)} />
      <Tile
        label="Loss"
        value={percent(link.lossRatio)}
        note={`jitter ${milliseconds(link.jitterMs)}`}
        {...lossState(link.lossRatio)}
      />
      <Tile label="Bandwidth" value={bitsPerSecond(bandwidthOf(link))} note={bandwidthNote(link)} />
      <AnswerTile link={link} past={past} />
    </dl>
  );
}

function AnswerTile({ link, past }: Omit<FactsProps, "back">): VNode {
  const last = lastAnswer(link, past);
  const { since: changedAt = null } = link;
  const since = changedAt === null ? "" : `figures since ${clockTime(changedAt, nowMs.value)}`;
  const samples = `${figure(link.rttMs.count)} samples`;
  const note = isCut(link) ? "every packet of the window is lost" : samples;
  const state = isCut(link) ? { state: "bad" as const } : {};
  if (last === null)
    return (
      <Tile
        label="Newest answer"
        value={link.origin === "measured" ? "not known" : "none"}
        note={link.origin === "measured" ? note : `nobody measures it: ${link.origin}`}
        {...state}
      />
    );
  const seconds =
    ((moment.value === "" ? nowMs.value : Date.parse(moment.value)) - Date.parse(last.at)) / 1000;
  const ago = seconds < 1 ? "now" : `${age(seconds)} ago`;
  return (
    <Tile
      label="Newest answer"
      value={last.isExact ? ago : `before ${clockTime(last.at, nowMs.value)}`}
      note={[note, since].filter((text) => text !== "").join("; ")}
      {...state}
    />
  );
}

function roundTrip(link: Link | null): number | null {
  return link === null ? null : (link.rttMs.p50 ?? link.costMs);
}

function bandwidthOf({ bandwidthBitsPerSecond: { capacity, achieved, available } }: Link): number | null {
  return available ?? achieved ?? capacity;
}

function lossState(lossRatio: number | null): { readonly state?: "warn" | "bad" } {
  return (lossRatio ?? 0) <= 0.001 ? {} : { state: lossRatio === 1 ? "bad" : "warn" };
}

function bandwidthNote({
  bandwidthBitsPerSecond: { capacity, achieved, available },
  bandwidthCapacityOrigin,
}: Link): string {
  if (capacity === null && achieved === null) return "no test has come yet, or probe.bandwidth is off";
  const parts = [available === null ? "" : "available"];
  if (capacity !== null)
    parts.push(
      `capacity ${bitsPerSecond(capacity)}${bandwidthCapacityOrigin === null || bandwidthCapacityOrigin === undefined ? "" : `, ${bandwidthCapacityOrigin}`}`,
    );
  if (achieved !== null) parts.push(`last burst ${bitsPerSecond(achieved)}`);
  return parts.filter((part) => part !== "").join("; ");
}

function Past({ past }: { readonly past: LinkHistory | null }): VNode {
  const times = useMemo(() => (past?.points ?? []).map(({ at }) => Date.parse(at) / 1000), [past]);
  const lines = useMemo(
    () => [
      { label: "median", values: (past?.points ?? []).map(({ p50Ms }) => p50Ms) },
      { label: "p90", values: (past?.points ?? []).map(({ p90Ms }) => p90Ms) },
      { label: "p99", values: (past?.points ?? []).map(({ p99Ms }) => p99Ms) },
    ],
    [past],
  );
  if (past === null) return <Loading />;
  if (times.length < 2)
    return (
      <Empty title="No history yet">A point is kept every ten seconds, for an hour; a line needs two.</Empty>
    );
  return <TimePlot label="Round trip over the kept history" times={times} lines={lines} />;
}

function Methods({ links }: { readonly links: readonly Link[] }): VNode {
  return (
    <Table
      label="figures by method"
      columns={[
        { title: "Method", isText: true },
        { title: "p50" },
        { title: "p90" },
        { title: "p99" },
        { title: "Mean" },
        { title: "Jitter" },
        { title: "Loss" },
        { title: "Samples" },
        { title: "Age" },
      ]}
      rows={links.map((link) => ({
        key: `${link.method} ${link.ipFamily}`,
        cells: [
          link.origin === "measured"
            ? `${METHOD_NAMES[link.method] ?? link.method}, IPv${link.ipFamily}`
            : link.origin,
          milliseconds(link.rttMs.p50),
          milliseconds(link.rttMs.p90),
          milliseconds(link.rttMs.p99),
          milliseconds(link.rttMs.mean),
          milliseconds(link.jitterMs),
          percent(link.lossRatio),
          figure(link.rttMs.count),
          // The newest sample of a cut pair is a lost packet.
          isCut(link) ? "–" : age(link.ageSeconds),
        ],
      }))}
    />
  );
}

function CopyQuery(props: {
  readonly source: string;
  readonly target: string;
  readonly method: string;
}): VNode {
  const [told, tell] = useState("");
  const query = promqlOf(props.source, props.target, props.method, route.value.view.quantity);
  const copy = (): void => {
    // Undefined without TLS, except on localhost.
    const clipboard = (navigator as { readonly clipboard?: Clipboard }).clipboard;
    const done = clipboard?.writeText(query) ?? Promise.reject(new Error("no clipboard"));
    done.then(
      () => tell("Copied"),
      () => tell(query),
    );
  };
  return (
    <span class="copy">
      <button type="button" title={query} onClick={copy}>
        Copy as PromQL
      </button>
      <span role="status" class={told.length > 10 ? "mono" : ""}>
        {told}
      </span>
    </span>
  );
}
