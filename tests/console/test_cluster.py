"""Cluster in a real browser: nodes, quorum, trouble, a plan and its moves, elections, settings of nodes."""

from __future__ import annotations

import re

from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType
from playwright.sync_api import expect

from tests.support.cluster import BarnabasCluster
from tests.support.console import Watched

LINE = re.compile("is balanced|get other replicas|led by their first replica")


def test_nodes_disks_and_the_quorum(watched: Watched, cluster: BarnabasCluster) -> None:
    page = watched.open("/c/local/cluster")
    table = page.get_by_role("table", name="Nodes")
    for number in cluster.nodes:
        row = table.get_by_role("row", name=re.compile(f"^{number} 127"))
        expect(row.get_by_text("up", exact=True)).to_be_visible()
        expect(row.get_by_role("progressbar", name=f"Disk of node {number} in use")).to_be_visible()
    assert watched.serious() == []
    page.get_by_role("link", name="Quorum").click()
    quorum = page.get_by_role("table", name="Quorum")
    expect(quorum.get_by_role("row")).to_have_count(4)
    expect(quorum.get_by_text("leader", exact=True)).to_have_count(1)
    expect(page.get_by_text("1 of them may be down")).to_be_visible()
    page.get_by_role("link", name="Partitions").click()
    expect(page.get_by_text("Nothing is wrong.")).to_be_visible()
    page.get_by_role("link", name="Moves").click()
    expect(page.get_by_text("Nothing is being moved.")).to_be_visible()
    assert watched.serious() == []


def test_a_plan_is_shown_and_then_carried_out(watched: Watched, cluster: BarnabasCluster) -> None:
    """`lopsided` lies on two nodes with all its leaders on one; the balance spreads it."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    placed = [[1, 2]] * 6
    admin.create_topics([NewTopic("lopsided", replica_assignment=placed, num_partitions=6)])["lopsided"].result(20)
    cluster.await_isr("lopsided", 2, 6)
    page = watched.open("/c/local/cluster")
    page.get_by_role("button", name="Balance …").click()
    dialog = page.get_by_role("dialog", name="Balance")
    planned = dialog.get_by_role("table", name="Planned moves").get_by_role("row", name=re.compile("^lopsided-"))
    expect(planned.first).to_be_visible()
    expect(dialog.get_by_role("table", name="Nodes before and after").get_by_text("→").first).to_be_visible()
    assert watched.serious() == []
    dialog.get_by_label("Throttle, MB a second and node").fill("500")
    dialog.get_by_label("Partitions at once").fill("3")
    dialog.get_by_role("button", name=re.compile("Move [0-9]+ partitions")).click()
    work = page.get_by_role("region", name="The plan under way")
    expect(work.get_by_text(re.compile("Done: [0-9]+ partitions were moved."))).to_be_visible(timeout=60_000)
    held = {node for index in range(6) for node in cluster.partition("lopsided", index)["replica_nodes"]}
    assert held == {1, 2, 3}
    leaders = {cluster.leader("lopsided", index) for index in range(6)}
    assert leaders == {1, 2, 3}
    assert throttles(cluster, admin) == set()
    page.get_by_role("link", name="Nodes").click()
    page.get_by_role("button", name="Balance …").click()
    expect(page.get_by_role("dialog").get_by_text(LINE)).to_be_visible()
    page.get_by_role("button", name="Close").first.click()
    expect(page.get_by_role("dialog")).to_be_hidden()


def throttles(cluster: BarnabasCluster, admin: AdminClient) -> set[str]:
    """What is left of a throttle."""
    wanted = [ConfigResource(ResourceType.BROKER, str(number)) for number in cluster.nodes]
    wanted.append(ConfigResource(ResourceType.TOPIC, "lopsided"))
    return {
        each.name
        for resource in wanted
        for future in admin.describe_configs([resource]).values()
        for each in future.result(20).values()
        if "throttled" in each.name and each.value not in ("", None, str(2**63 - 1))
    }


def test_a_node_without_room_elsewhere_is_not_emptied(watched: Watched) -> None:
    watched.expected("409")
    page = watched.open("/c/local/cluster")
    page.get_by_role("button", name="Empty node 2").click()
    dialog = page.get_by_role("dialog", name="Empty node 2")
    expect(dialog.get_by_text("replicas and only 2 nodes are left")).to_be_visible()
    dialog.get_by_role("button", name="Close").click()


def test_moves_are_taken_back_and_stopped_and_an_empty_node_is_taken_out(
    watched: Watched, cluster: BarnabasCluster
) -> None:
    cluster.add(4)
    try:
        page = watched.open("/c/local/cluster")
        page.get_by_role("button", name="Empty node 3").click()
        dialog = page.get_by_role("dialog", name="Empty node 3")
        dialog.get_by_label("Throttle, MB a second and node").fill("0.001")
        dialog.get_by_role("button", name=re.compile("Move [0-9]+ partitions")).click()
        work = page.get_by_role("region", name="The plan under way")
        row = page.get_by_role("table", name="Moves").get_by_role("row", name=re.compile("^orders-"))
        expect(row.first.get_by_role("progressbar")).to_be_visible()
        name = row.first.get_by_role("button").get_attribute("aria-label") or ""
        page.get_by_role("button", name=name).click()
        page.get_by_role("button", name="Take it back").click()
        expect(page.get_by_role("button", name=name)).to_be_hidden()
        work.get_by_role("button", name="Stop").click()
        expect(work.get_by_text("stopped:")).to_be_visible(timeout=60_000)
        expect(page.get_by_text("Nothing is being moved.")).to_be_visible()
        page.get_by_role("link", name="Nodes").click()
        empty, out = (page.get_by_role("button", name=f"{what} node 4") for what in ("Empty", "Take out"))
        expect(empty.or_(out)).to_be_visible()
        if empty.is_visible():
            empty.click()
            page.get_by_role("dialog").get_by_role("button", name=re.compile("Move [0-9]+ partitions")).click()
            expect(work.get_by_text("Done:")).to_be_visible(timeout=60_000)
            page.get_by_role("link", name="Nodes").click()
        out.click()
        confirm = page.get_by_role("button", name="Take it out")
        expect(confirm).to_be_disabled()
        page.get_by_label("to confirm").fill("node 4")
        confirm.click()
        expect(page.get_by_text("no member any more")).to_be_visible()
        expect(page.get_by_role("row", name=re.compile("^4 127"))).to_be_hidden()
    finally:
        cluster.nodes[4].stop()
        cluster.clients.pop(4, None)
        del cluster.nodes[4]


def test_leaders_go_back_to_their_first_replica(watched: Watched, cluster: BarnabasCluster) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    admin.create_topics([NewTopic("led", replica_assignment=[[3, 1, 2]], num_partitions=1)])["led"].result(20)
    cluster.await_isr("led", 3)
    cluster.restart(3)
    cluster.await_isr("led", 3)
    page = watched.open("/c/local/cluster")
    dialog = page.get_by_role("dialog", name="Elect preferred leaders")
    while cluster.leader("led") != 3:  # it may have gone back by itself
        page.get_by_role("button", name=re.compile("Elect preferred leaders \\(")).click()
        expect(dialog).to_be_visible()
        if not dialog.get_by_text("led-0").count():  # the page still shows the cluster of before the restart
            dialog.get_by_role("button", name="Cancel").click()
            page.wait_for_timeout(200)
            continue
        dialog.get_by_role("button", name=re.compile("Elect leaders of")).click()
        expect(page.get_by_text("leaders were elected")).to_be_visible()
        break
    cluster.until(lambda: cluster.leader("led") == 3, "led is led by its first replica", 20)


def test_settings_of_a_node_are_changed_and_reset(watched: Watched) -> None:
    page = watched.open("/c/local/cluster/settings/2")
    page.get_by_label("Filter settings").fill("log.cleaner.threads")
    row = page.get_by_role("row", name=re.compile("^log.cleaner.threads"))
    expect(row).to_contain_text("the default")
    row.get_by_role("button", name="Change log.cleaner.threads").click()
    page.get_by_label("Value").fill("2")
    page.get_by_role("button", name="Save").click()
    expect(row).to_contain_text("this node")
    row.get_by_role("button", name="Change log.cleaner.threads").click()
    page.get_by_label("back to the default").check()
    page.get_by_role("button", name="Save").click()
    expect(row).to_contain_text("the default")
    page.get_by_label("Settings of").select_option("all")
    expect(page.get_by_text("What was set for all nodes at once")).to_be_visible()
    assert watched.serious() == []


def test_a_node_that_dies_shows_within_seconds(watched: Watched, cluster: BarnabasCluster) -> None:
    page = watched.open("/c/local/cluster/partitions")
    expect(page.get_by_text("Nothing is wrong.")).to_be_visible()
    cluster.kill(2)
    try:
        expect(page.get_by_role("table", name="Partitions with trouble")).to_be_visible()
        page.get_by_role("link", name="Nodes").click()
        expect(page.get_by_role("row", name=re.compile("^2 127")).get_by_text("down")).to_be_visible()
    finally:
        cluster.start(2)
    expect(page.get_by_role("row", name=re.compile("^2 127")).get_by_text("up", exact=True)).to_be_visible()
    cluster.await_isr("orders", 3, 6)
