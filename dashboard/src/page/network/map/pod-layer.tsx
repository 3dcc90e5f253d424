import type { WorkflowGraphSnapshot } from "@isochrone/topology";
import type { VNode } from "preact";
import { useRef, useState } from "preact/hooks";
import { bytesPerSecond, milliseconds } from "../../model/format.ts";
import { withMoves, type CostBetween, type PodMove } from "../../model/request-time.ts";
import { colourOf } from "../../model/scale.ts";
import { theme } from "../../state/store.ts";
import { nameOfWorkload, podsOf } from "./map-pods.ts";
import { POD, ringsOf } from "./pod-rings.ts";
import { colourOfMark, shapeOfMark, type Marks } from "./workload-colours.ts";

export interface Spot {
  readonly name: string;
  readonly x: number;
  readonly y: number;
  readonly radius: number;
}

interface LayerProps {
  readonly spots: readonly Spot[];
  readonly workflow: WorkflowGraphSnapshot;
  readonly moves: readonly PodMove[];
  readonly marks: Marks;
  readonly mostRings: number;
  readonly onHover: (move: PodMove | null) => void;
  readonly onDrop: (move: PodMove) => void;
}

const REACH = 24;

interface Drag {
  readonly pod: string;
  readonly x: number;
  readonly y: number;
  readonly over: string | null;
}

export function PodLayer(props: LayerProps): VNode {
  const { spots, workflow, moves, marks, mostRings, onHover, onDrop } = props;
  const layer = useRef<SVGGElement>(null);
  const [drag, setDrag] = useState<Drag | null>(null);
  const shown = withMoves(workflow, moves);
  const byNode = new Map(spots.map((spot) => [spot.name, spot]));
  const moved = new Set(moves.map(({ pod }) => pod));
  const follow = (pod: string, event: PointerEvent): void => {
    const point = inDrawing(layer.current!, event);
    const over = nearest(spots, point)?.name ?? null;
    if (over !== drag?.over) onHover(over === null ? null : { pod, node: over });
    setDrag({ pod, ...point, over });
  };
  const letGo = (): void => {
    if (drag !== null && drag.over !== null) onDrop({ pod: drag.pod, node: drag.over });
    onHover(null);
    setDrag(null);
  };
  const cancel = (): void => {
    onHover(null);
    setDrag(null);
  };
  const target = byNode.get(drag?.over ?? "");
  return (
    <g ref={layer} class="pods">
      {placedPods(shown, byNode, moved, mostRings).map(({ pods, spot, more }) => (
        <g key={spot.name}>
          {pods.map(({ pod, workload, x, y }) => {
            const isDragged = drag?.pod === pod;
            const at = isDragged ? drag : { x, y };
            const mark = marks.get(workload) ?? 0;
            const shape = shapeOfMark(mark);
            const says = `${nameOfWorkload(workload)}: ${pod}, on ${spot.name}${moved.has(pod) ? " in thought" : ""}`;
            return (
              <rect
                key={pod}
                class={`pod ${moved.has(pod) ? "moved" : ""} ${isDragged ? "dragged" : ""}`}
                data-pod={pod}
                data-x={at.x.toFixed(1)}
                data-y={at.y.toFixed(1)}
                data-says={says}
                fill={colourOfMark(mark, theme.value)}
                x={(at.x - POD / 2).toFixed(1)}
                y={(at.y - POD / 2).toFixed(1)}
                width={POD}
                height={POD}
                rx={shape === "round" ? POD / 2 : 1.5}
                transform={
                  shape === "diamond" ? `rotate(45 ${at.x.toFixed(1)} ${at.y.toFixed(1)})` : undefined
                }
                onPointerDown={(event) => {
                  event.preventDefault();
                  event.currentTarget.setPointerCapture(event.pointerId);
                  follow(pod, event);
                }}
                onPointerMove={(event) => (isDragged ? follow(pod, event) : undefined)}
                onPointerUp={letGo}
                onPointerCancel={cancel}
              >
                <title>{says}</title>
              </rect>
            );
          })}
          {more === null ? null : (
            <text class="tick more" x={spot.x + more.x} y={spot.y + more.y + 4} text-anchor="middle">
              {`+${more.count}`}
            </text>
          )}
        </g>
      ))}
      {target === undefined ? null : <Target spot={target} />}
    </g>
  );
}

function Target({ spot: { x, y, radius } }: { readonly spot: Spot }): VNode {
  return <circle class="target" cx={x} cy={y} r={radius + 4} />;
}

function inDrawing(layer: SVGGElement, { clientX, clientY }: PointerEvent): { x: number; y: number } {
  const box = layer.ownerSVGElement!.getBoundingClientRect();
  const { width, height } = layer.ownerSVGElement!.viewBox.baseVal;
  return {
    x: ((clientX - box.left) * width) / box.width,
    y: ((clientY - box.top) * height) / box.height,
  };
}

function nearest(spots: readonly Spot[], { x, y }: { readonly x: number; readonly y: number }): Spot | null {
  let best: Spot | null = null;
  let least = REACH;
  for (const spot of spots) {
    const distance = Math.hypot(spot.x - x, spot.y - y) - spot.radius;
    if (distance < least) [best, least] = [spot, distance];
  }
  return best;
}

/** Rings of pods around each node: moved pods first, since all must be visible, then by workload. */
function placedPods(
  workflow: WorkflowGraphSnapshot,
  byNode: ReadonlyMap<string, Spot>,
  moved: ReadonlySet<string>,
  mostRings: number,
) {
  const order = (pod: string): number => (moved.has(pod) ? 0 : 1);
  const pods = podsOf(workflow).toSorted((a, b) => order(a.pod) - order(b.pod));
  return [...Map.groupBy(pods, ({ node }) => node)].flatMap(([node, here]) => {
    const spot = byNode.get(node ?? "");
    if (spot === undefined) return [];
    const { slots, more } = ringsOf(here.length, mostRings);
    const shown = slots.map((slot, index) => ({
      ...here[index]!,
      x: spot.x + slot.x,
      y: spot.y + slot.y,
    }));
    return [{ spot, pods: shown, more }];
  });
}

const MOST_LINES = 400;

export function Traffic(props: {
  readonly spots: readonly Spot[];
  readonly workflow: WorkflowGraphSnapshot;
  readonly moves: readonly PodMove[];
  readonly costs: CostBetween;
}): VNode {
  const { spots, workflow, moves, costs } = props;
  const byNode = new Map(spots.map((spot) => [spot.name, spot]));
  const lines = trafficOf(withMoves(workflow, moves)).slice(0, MOST_LINES);
  const most = Math.max(1, ...lines.map(({ bytes }) => bytes));
  return (
    <g class="traffic">
      {lines.map(({ source, target, bytes }) => {
        const [from, to] = [byNode.get(source), byNode.get(target)];
        if (from === undefined || to === undefined) return null;
        const ms = costs(source, target);
        const isDead = ms === Number.POSITIVE_INFINITY;
        return (
          <line
            key={`${source}\n${target}`}
            class={isDead ? "dead" : ""}
            x1={from.x}
            y1={from.y}
            x2={to.x}
            y2={to.y}
            stroke={isDead || Number.isNaN(ms) ? undefined : colourOf(ms, "ms", theme.value)}
            stroke-width={(2 + 5 * Math.sqrt(bytes / most)).toFixed(1)}
          >
            <title>{`${source} → ${target}: ${bytesPerSecond(bytes)}, ${isDead ? "no answer" : milliseconds(ms)}`}</title>
          </line>
        );
      })}
    </g>
  );
}

function trafficOf({ workloads, channels }: WorkflowGraphSnapshot) {
  const nodesOf = new Map(
    workloads.map(({ name, pods }) => [name, pods.map(({ node }) => node).filter((node) => node !== null)]),
  );
  const lines = new Map<string, { source: string; target: string; bytes: number }>();
  for (const { source: caller, target: callee, bytesPerSecond: rate } of channels) {
    const [sources, targets] = [nodesOf.get(caller) ?? [], nodesOf.get(callee) ?? []];
    for (const source of sources)
      for (const target of targets) {
        if (source === target) continue;
        const key = `${source}\n${target}`;
        const line = lines.get(key) ?? { source, target, bytes: 0 };
        line.bytes += (rate ?? 0) / (sources.length * targets.length);
        lines.set(key, line);
      }
  }
  return [...lines.values()].sort((a, b) => b.bytes - a.bytes);
}
