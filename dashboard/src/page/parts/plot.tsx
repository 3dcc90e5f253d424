import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import UPlot from "uplot";
import { milliseconds } from "../model/format.ts";
import { theme } from "../state/store.ts";
import { drawMarks, type PlotMark } from "./plot-marks.ts";

interface Line {
  readonly label: string;
  readonly values: readonly (number | null)[];
}

/** Colours of lines in order; also distinguished by dashes. */
const LINES = {
  light: ["#0b5fc2", "#8a5200", "#a8324a"],
  dark: ["#7db8ff", "#eab464", "#f59aa8"],
} as const;
const DASHES = [[], [6, 3], [2, 3]] as const;
const AXES = { light: ["#4d5a68", "#e3e8ed"], dark: ["#a9b4c1", "#2a323c"] } as const;

const CLOCK_SPACE = 84;

const clock = (seconds: number): string => new Date(seconds * 1000).toLocaleTimeString("en-GB");

function newest(plot: UPlot): void {
  const { idx } = plot.cursor;
  if (idx === null || idx === undefined) plot.setLegend({ idx: plot.data[0].length - 1 }, false);
}

export function TimePlot(props: {
  readonly label: string;
  readonly times: readonly number[];
  readonly lines: readonly Line[];
  readonly height?: number;
  readonly marks?: readonly PlotMark[];
  readonly text?: (value: number | null) => string;
}): VNode {
  const text = useRef(props.text ?? milliseconds);
  text.current = props.text ?? milliseconds;
  const marks = useRef(props.marks ?? []);
  marks.current = props.marks ?? [];
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot | null>(null);
  const current = theme.value;
  const height = props.height ?? 220;
  const labels = props.lines.map(({ label }) => label).join("\n");
  const data = (): UPlot.AlignedData => [[...props.times], ...props.lines.map(({ values }) => [...values])];

  useEffect(() => {
    const holder = place.current!;
    const [ink, grid] = AXES[current];
    const axis: UPlot.Axis = {
      stroke: ink,
      grid: { stroke: grid, width: 1 },
      ticks: { stroke: grid, width: 1 },
      font: "12px system-ui",
      size: 48,
    };
    const opened = new UPlot(
      {
        width: holder.clientWidth,
        height,
        padding: [12, 28, 0, 0],
        hooks: {
          setCursor: [newest],
          ready: [newest],
          setData: [newest],
          draw: [(drawn) => drawMarks(drawn, marks.current, current)],
        },
        cursor: { drag: { x: false, y: false }, points: { size: 6 } },
        legend: { live: true },
        scales: { y: { range: (_plot, _low, high) => [0, Math.max(high, 0.001) * 1.15] } },
        axes: [
          { ...axis, space: CLOCK_SPACE, values: (_plot, ticks) => ticks.map(clock) },
          { ...axis, size: 78, space: 36, values: (_plot, ticks) => ticks.map((tick) => text.current(tick)) },
        ],
        series: [
          {
            value: (_plot, seconds) => (seconds === null ? "–" : clock(seconds)),
            label: "Time",
          },
          ...props.lines.map(({ label }, index) => ({
            label,
            stroke: LINES[current][index % 3]!,
            width: 1.75,
            dash: [...DASHES[index % 3]!],
            points: { show: props.times.length < 30, size: 4 },
            value: (_plot: UPlot, value: number | null) => text.current(value),
          })),
        ],
      },
      data(),
      holder,
    );
    plot.current = opened;
    const observer = new ResizeObserver(() => opened.setSize({ width: holder.clientWidth, height }));
    observer.observe(holder);
    return () => {
      observer.disconnect();
      opened.destroy();
      plot.current = null;
    };
  }, [current, labels, height]);

  useEffect(() => plot.current?.setData(data()), [props.times, props.lines, props.marks]);

  return <div ref={place} class="plot" role="img" aria-label={props.label} />;
}
