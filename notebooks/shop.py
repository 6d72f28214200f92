"""The shop of notebook 0. Run as a program, it takes an order, charges it, and dies before anything is shipped."""

import os
import sys

from workbench import Workbench


def order(ctx, amount):
    print("order: begins in its first line")
    receipt = yield ctx.schedule_activity("Charge", amount)
    print(f"order: has the {receipt}")
    parcel = yield ctx.schedule_activity("Ship", receipt)
    print(f"order: has the {parcel}")
    return parcel


def charge(ctx, amount):
    print(f"CHARGING {amount}")
    return f"receipt over {amount}"


def ship(ctx, receipt):
    print("SHIPPING")
    return "parcel 7"


def open_shop(path):
    shop = Workbench(path)
    shop.orchestration("Order")(order)
    shop.activity("Charge")(charge)
    shop.activity("Ship")(ship)
    return shop


if __name__ == "__main__":
    run = open_shop(sys.argv[1]).start("Order", 480, instance_id="order-1")
    run.turn()
    run.turn()
    print("... and the lights go out", flush=True)
    os._exit(1)  # no clean-up, no goodbye: as good as a power cut
