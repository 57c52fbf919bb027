"""`pipeline_test` as docs/pipelines/testing.md shows it, on the pipeline that `barnabas pipeline new` writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from barnabas.cli.pipeline.new import write
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.framework import registry
from barnabas.testing import RunningNode, pipeline_test


def test_rows_in_event_time_moved_results_out(quick_spark: Any, node: RunningNode, tmp_path: Path) -> None:
    quick_spark.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "true")
    shop = registry.find(str(write("shop", tmp_path)))
    with pipeline_test(shop, spark=quick_spark, bootstrap=node.bootstrap) as test:
        with pytest.raises(PipelineError, match="a row first"):
            test.advance("shop.orders", "2026-05-01T10:00:00Z")
        with pytest.raises(PipelineError, match="shop has no topic"):
            test.feed("shop.order", [{}])
        test.feed(
            "shop.orders",
            [
                {"id": "3", "item": "tea", "price": "free", "time": "2026-05-01T10:00:02Z"},
                {"id": "1", "item": "tea", "price": 2.5, "time": "2026-05-01T10:00:00Z"},
                {"id": "2", "item": "tea", "price": 1.5, "time": "2026-05-01T10:00:01Z"},
            ],
        )
        test.advance("shop.orders", "2026-05-01T10:01:00Z")
        test.run()
        first = {"time": "2026-05-01T10:00:00.000Z", "item": "tea", "orders": 2, "revenue": 4.0}
        assert test.results("shop.revenue") == [first]
        assert [error for _, error in test.dead_letters("shop.orders")] == ["price: free is not double"]

        late = {"id": "4", "item": "tea", "price": 9.0, "time": "2026-05-01T10:00:03Z"}
        test.feed("shop.orders", [late])
        test.run()
        assert test.late == 1 and test.results("shop.revenue") == [first]
