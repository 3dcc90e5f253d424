import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Empty } from "../parts/common.tsx";
import { age, milliseconds, percent, plural } from "../model/format.ts";
import { LEVELS, QUANTITIES, type Level, type Quantity } from "../model/route.ts";
import { DEAD, legendOf, NOTHING } from "../model/scale.ts";
import type { ClusterView } from "../model/cluster-view.ts";
import type { Picture } from "../reader.ts";
import { cluster, goTo, look, reader, route, theme } from "../store.ts";
import { CELL, KIND_BITS, MARK, measureOf, pairAt, usualLevel, type Grid } from "./grid.ts";
import { MatrixCanvas } from "./matrix-canvas.ts";
import type { Cell } from "./paint.ts";

const QUANTITY_NAMES: Readonly<Record<Quantity, string>> = {
  p50: "Median round trip",
  p90: "90th percentile",
  p99: "99th percentile",
  loss: "Loss",
  age: "Age of the newest answer",
};
const LEVEL_NAMES: Readonly<Record<Level, string>> = { nodes: "Nodes", zones: "Zones", regions: "Regions" };

/** The latency matrix: row asks, column answers. */
export function Matrix(): VNode {
  const view = cluster.value!;
  const { quantity } = route.value.view;
  const level = route.value.view.level ?? usualLevel(view.size);
  const { canvas, matrix, text } = useMatrix(view, quantity, level);
  const { size } = view;
  if (size === 0)
    return <Empty title="No node is known yet">Nodes appear as soon as the cluster lists them.</Empty>;
  return (
    <div class="matrix">
      <div class="controls">
        <label>
          Show
          <select
            id="quantity"
            value={quantity}
            onChange={({ currentTarget }) => look({ quantity: currentTarget.value as Quantity })}
          >
            {QUANTITIES.map((each) => (
              <option key={each} value={each}>
                {QUANTITY_NAMES[each]}
              </option>
            ))}
          </select>
        </label>
        <label>
          By
          <select
            id="level"
            value={level}
            onChange={({ currentTarget }) => look({ level: currentTarget.value as Level })}
          >
            {LEVELS.map((each) => (
              <option key={each} value={each}>
                {LEVEL_NAMES[each]}
              </option>
            ))}
          </select>
        </label>
        <div class="buttons" role="group" aria-label="Zoom">
          <button type="button" aria-label="Zoom in" onClick={() => matrix.current?.zoom(1.6)}>
            +
          </button>
          <button type="button" aria-label="Zoom out" onClick={() => matrix.current?.zoom(1 / 1.6)}>
            −
          </button>
          <button type="button" onClick={() => matrix.current?.fit()}>
            Fit
          </button>
        </div>
      </div>
      <Legend quantity={quantity} />
      <p id="readout" class="readout" aria-live="polite">
        {text === "" ? (
          <span class="soft">
            Row asks, column answers. Point at a cell, or use the arrow keys; Enter opens a pair.
          </span>
        ) : (
          text
        )}
      </p>
      <div class="canvas-frame">
        <canvas
          ref={canvas}
          id="matrix"
          tabIndex={0}
          role="img"
          aria-label={`Matrix of ${QUANTITY_NAMES[quantity].toLowerCase()} between ${plural(size, "node")}. Arrow keys go from cell to cell, Enter opens the pair, plus and minus zoom. The tables below say the same.`}
        />
      </div>
    </div>
  );
}

/** A canvas that shows the graph, and the cell that is pointed at in words. */
function useMatrix(view: ClusterView, quantity: Quantity, level: Level) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const matrix = useRef<MatrixCanvas | null>(null);
  const shown = useRef<Picture | null>(null);
  const [text, setText] = useState("");
  const current = theme.value;

  useEffect(() => {
    const opened = new MatrixCanvas(canvas.current!, {
      onCell: (cell) =>
        setText(cell === null ? "" : describe(cell, shown.current?.grid ?? null, cluster.peek())),
      onGone: ({ grid }) => reader.takeBack(grid),
      onOpen: (cell) => open(cell, shown.current?.grid ?? null),
    });
    matrix.current = opened;
    return () => opened.close();
  }, []);

  useEffect(() => {
    let isGone = false;
    void reader.draw(quantity, level, current).then((picture) => {
      if (picture === null || isGone) return null;
      shown.current = picture;
      return matrix.current?.show(picture);
    });
    return () => {
      isGone = true;
    };
  }, [view, quantity, level, current]);
  return { canvas, matrix, text };
}

function Legend({ quantity }: { readonly quantity: Quantity }): VNode {
  const measure = measureOf(quantity);
  const current = theme.value;
  const steps = legendOf(measure, current);
  const show = (from: number): string =>
    measure === "loss"
      ? percent(from).replace(" %", "")
      : measure === "seconds"
        ? age(from).replace(" min", "m").replace(" s", "")
        : String(from);
  const unit = measure === "loss" ? "%" : measure === "seconds" ? "s" : "ms";
  return (
    <div class="legend" id="legend">
      <div class="scale" role="img" aria-label={`Colour scale in ${unit}, logarithmic`}>
        {steps.map(({ colour, from }) => (
          <span key={colour}>
            <i style={{ backgroundColor: colour }} />
            <small>{from === null ? "0" : show(from)}</small>
          </span>
        ))}
        <small>{unit}</small>
      </div>
      <ul class="keys">
        <li>
          <i class="hatched" /> estimated
        </li>
        <li>
          <i class="lossy" /> loses packets
        </li>
        <li>
          <i class="stale" /> old
        </li>
        <li>
          <i style={{ backgroundColor: DEAD[current] }} /> no answer
        </li>
        <li>
          <i class="framed" style={{ backgroundColor: NOTHING[current] }} /> unknown
        </li>
      </ul>
    </div>
  );
}

function open({ row, column }: Cell, grid: Grid | null): void {
  if (grid === null || (row === column && grid.level === "nodes")) return;
  if (grid.level !== "nodes") return look({ level: "nodes" });
  goTo({ page: "pair", source: grid.labels[row]!, target: grid.labels[column]! });
}

/** The cell in words. */
function describe({ row, column }: Cell, grid: Grid | null, view: ClusterView | null): string {
  if (grid === null || view === null) return "";
  const pair = `${grid.labels[row]} → ${grid.labels[column]}`;
  const cell = row * grid.size + column;
  const state = grid.cells[cell]!;
  const value = grid.values[cell]!;
  const measure = measureOf(grid.quantity);
  const figure =
    measure === "loss" ? percent(value) : measure === "seconds" ? age(value) : milliseconds(value);
  switch (state & KIND_BITS) {
    case CELL.self:
      return `${grid.labels[row]}: itself`;
    case CELL.nothing:
      return `${pair}: not measured`;
    case CELL.dead:
      return `${pair}: no answer, every packet was lost`;
    case CELL.estimated:
      return `${pair}: about ${figure}, estimated`;
    default: {
      if (grid.level !== "nodes") return `${pair}: ${figure}, median of the measured pairs`;
      const figures = pairAt(view, row, column);
      if (figures === null) return `${pair}: ${figure}`;
      const { p50, p90, p99, lossRatio, ageSeconds, count } = figures;
      const old = (state & MARK.stale) === 0 ? "" : ", old";
      return `${pair}: median ${milliseconds(p50)}, p90 ${milliseconds(p90)}, p99 ${milliseconds(p99)}, loss ${percent(lossRatio)}, ${count} samples, ${age(ageSeconds)} ago${old}`;
    }
  }
}
