import type { VNode } from "preact";
import { milliseconds, plural } from "../../model/format.ts";
import { changeInWords, type Change, type Estimate, type Prediction } from "./what-if.ts";

const TITLES = {
  measured: "Latency of requests, end to end",
  network: "Network time of a request on its slowest chain of calls",
} as const;

export function PredictionBars(props: {
  readonly prediction: Prediction | null;
  readonly moves: number;
  readonly onReset: () => void;
}): VNode {
  const { prediction, moves, onReset } = props;
  return (
    <div class="what-if">
      {prediction === null ? null : (
        <>
          <h3 id="prediction-title">{TITLES[prediction.kind]}</h3>
          <dl class="bars" aria-labelledby="prediction-title">
            <Bars label="p50" change={prediction.p50} moves={moves} scaleMs={scaleOf(prediction)} />
            <Bars label="p95" change={prediction.p95} moves={moves} scaleMs={scaleOf(prediction)} />
          </dl>
        </>
      )}
      <p role="status" id="what-if">
        {sentence(prediction, moves)}
      </p>
      {moves === 0 ? null : (
        <button type="button" onClick={onReset}>
          As today
        </button>
      )}
    </div>
  );
}

function scaleOf({ p50, p95 }: Prediction): number {
  const ends = [p50, p95].flatMap((change) =>
    "reason" in change ? [] : [change.today, change.moved].map(({ ms, highMs }) => Math.max(ms, highMs ?? 0)),
  );
  return Math.max(0.001, ...ends);
}

function Bars(props: {
  readonly label: string;
  readonly change: Change;
  readonly moves: number;
  readonly scaleMs: number;
}): VNode {
  const { label, change, moves, scaleMs } = props;
  return (
    <>
      <dt>{label}</dt>
      {"reason" in change ? (
        <dd class="soft">can't be predicted: {change.reason}</dd>
      ) : (
        <>
          <Bar name="today" estimate={change.today} scaleMs={scaleMs} />
          {moves === 0 ? null : <Bar name="moved" estimate={change.moved} scaleMs={scaleMs} />}
        </>
      )}
    </>
  );
}

function Bar(props: {
  readonly name: "today" | "moved";
  readonly estimate: Estimate;
  readonly scaleMs: number;
}): VNode {
  const { name, estimate, scaleMs } = props;
  const { ms, lowMs, highMs } = estimate;
  const share = (value: number): string => `${((100 * value) / scaleMs).toFixed(1)}%`;
  return (
    <dd class={`bar-row ${name}`}>
      <span>{name}</span>
      <span class="track">
        <i style={{ width: share(ms) }} />
        {lowMs === null || highMs === null || highMs - lowMs < scaleMs / 200 ? null : (
          <b style={{ left: share(lowMs), width: share(highMs - lowMs) }} />
        )}
      </span>
      <span class="figure">{figureInWords(estimate)}</span>
    </dd>
  );
}

function figureInWords({ ms, lowMs, highMs }: Estimate): string {
  if (lowMs === null || highMs === null) return `about ${milliseconds(ms)}, error unknown`;
  if (lowMs === ms && highMs === ms) return milliseconds(ms);
  const [low, high] = [milliseconds(lowMs), milliseconds(highMs)];
  return low === high ? `about ${low}` : `about ${milliseconds(ms)} (${low} to ${high})`;
}

function sentence(prediction: Prediction | null, moves: number): string {
  if (prediction === null)
    return "Network time per request isn't known: nobody counts the requests, or no way between the pods is known.";
  const { today, moved, kind } = prediction;
  const total = (ms: number): string => (ms === Number.POSITIVE_INFINITY ? "unreachable" : milliseconds(ms));
  if (moves === 0)
    return `Network time per request, all calls one after the other: ${total(today.totalMs)}. Drag a pod to another node, or choose one in the list, to see what that would change.`;
  const how =
    kind === "measured"
      ? "Measured latency, shifted by the change of the slowest chain of calls."
      : "Round trips only: the pods' own time isn't measured here.";
  return `With ${plural(moves, "pod")} elsewhere: ${total(today.totalMs)} → ${total(moved.totalMs)} network time per request (${changeInWords(today.totalMs, moved.totalMs)}). ${how} Nothing is moved.`;
}
