# SPDX-License-Identifier: Apache-2.0
"""Models of torchvision and timm: the smallest member of each family, at the smallest usual size."""

from .example import Example, Model, images

# Weights are random: nothing is loaded. `name` or `name@size`.
TORCHVISION = """
alexnet@64 convnext_tiny densenet121 efficientnet_b0 efficientnet_v2_s googlenet inception_v3@96 maxvit_t@224 mnasnet0_5
mobilenet_v2 mobilenet_v3_small mobilenet_v3_large regnet_x_400mf regnet_y_400mf resnet18 resnet50 resnext50_32x4d
shufflenet_v2_x0_5 squeezenet1_1 swin_t swin_v2_t vgg11 vgg11_bn vit_b_16@32 wide_resnet50_2
"""

SEGMENTATION = "fcn_resnet50 deeplabv3_resnet50 deeplabv3_mobilenet_v3_large lraspp_mobilenet_v3_large"

VIDEO = "r3d_18 mc3_18 r2plus1d_18 s3d mvit_v1_b mvit_v2_s swin3d_t"

NOTES = {"r3d_18": "3-D convolutions round twice as much as PyTorch's, in either order of channels"}

DETECTION = (
    "fasterrcnn_resnet50_fpn fasterrcnn_mobilenet_v3_large_320_fpn maskrcnn_resnet50_fpn keypointrcnn_resnet50_fpn"
    " retinanet_resnet50_fpn fcos_resnet50_fpn ssdlite320_mobilenet_v3_large ssd300_vgg16"
)

# The smallest of every module of timm that takes part in training images, by the number of parameters, and of
# families within a module that differ in more than size.
TIMM = """
test_convnext test_efficientnet test_vit test_nfnet test_mambaout test_byobnet test_resnet test_maxvit test_vit_relpos
starnet_s050 dla46x_c mobilevit_xxs edgenext_xx_small mobilenetv3_small_050 ese_vovnet19b_slim_dw repghostnet_050
efficientvit_m0@224 ghostnet_050 regnetx_002 cspnext_tiny iformer_t xcit_nano_12_p8_224@64 cs3darknet_focus_s
efficientvit_b0 swiftformer_xs efficientformerv2_s0@224 pvt_v2_b0 fasternet_t0 fastvit_t8 lcnetv2_small
inception_next_atto rexnet_100 pit_ti_224@224 hardcorenas_b repvit_m1 vit_tiny_patch16_dinov3_qkvb coat_tiny@64
convit_tiny@64 deit_tiny_patch16_224@64 gmlp_ti16_224@64 hgnetv2_b0 shvit_s1 vit_tiny_r_s16_p8_224@64 cpubone_nano
efficientvim_m1 crossvit_tiny_240@240 levit_128s@224 densenet121 halonet_h1@256 dpn48b visformer_tiny@64 resnest14d
csatv2 resnetv2_18 legacy_seresnet18 poolformerv2_s12 cait_xxs24_224@64 skresnet18 gcvit_xxtiny@224
tiny_vit_5m_224@224 efficientformer_l1@224 hrnet_w18_small lowformer_b0 nest_tiny@224 convmixer_768_32
vitamin_small_224@64 legacy_xception@96 tnt_s_legacy_patch16_224@64 inception_v3@96 rdnet_tiny twins_svt_small
mvitv2_tiny@64 res2next50 volo_d1_224@64 sam2_hiera_tiny@128 xception41p@96 sequencer2d_s@64 hiera_tiny_224@224
swin_tiny_patch4_window7_224@64 swinv2_cr_tiny_224@64 swinv2_tiny_window16_256@64 davit_tiny focalnet_tiny_srf
selecsls42 tresnet_m nextvit_small inception_v4@96 inception_resnet_v2@96 mobilenetv5_base@256 pnasnet5large@96
samvit_base_patch16_224@64 naflexvit_base_patch16_parfac_gap@64 beit_base_patch16_224@64 nasnetalarge@96 vgg11
convnext_atto convnextv2_atto efficientnet_lite0 efficientnet_b0 efficientnetv2_rw_t mnasnet_050 mixnet_s tinynet_e
fbnetc_100 spnasnet_100 mobilenetv2_050 mobilenetv4_conv_small mobilenetv4_hybrid_medium lcnet_035 repvgg_a0
mobileone_s0 gernet_s resnet10t seresnet18 ecaresnet26t resnext26ts seresnext26d_32x4d resnetrs50 nf_regnet_b0
eca_nfnet_l0 bat_resnext26ts eca_botnext26ts_256@128 lambda_resnet26t@128 sebotnet33ts_256@256 regnety_002 regnetz_b16
cspresnet50 cspdarknet53 darknet53 caformer_s18 convformer_s18 poolformer_s12 coatnet_pico_rw_224@224
maxvit_pico_rw_256@256 coat_lite_tiny@64 coatnext_nano_rw_224@224 mixer_s32_224@64 resmlp_12_224@64 mobilevitv2_050
hgnet_tiny mambaout_femto vit_tiny_patch16_224@64 vit_relpos_small_patch16_224@64 eva02_tiny_patch14_224@56
deit3_small_patch16_224@64 resnetv2_50 twins_pcpvt_small res2net50_14w_8s swin_s3_tiny_224@224 fastvit_sa12
"""


def split(entry, size):
    name, _, given = entry.partition("@")
    return name, int(given or size)


def torchvision_model(entry):
    name, size = split(entry, 64)

    def build():
        import torchvision

        options = {}
        if name in ("googlenet", "inception_v3"):
            options = {"aux_logits": False, "init_weights": False}
        if name == "vit_b_16":
            options = {"image_size": size}
        model = torchvision.models.get_model(name, weights=None, num_classes=10, **options)
        return Example(model, images(size))

    return build


def segmentation_model(name):
    def build():
        import torchvision

        options = {} if name.startswith("lraspp") else {"aux_loss": False}
        model = torchvision.models.get_model(name, weights=None, weights_backbone=None, num_classes=5, **options)
        return Example(model, images(64), "cross-entropy:1", pick=lambda out: out["out"])

    return build


def video_model(name):
    def build():
        import torch
        import torchvision

        model = torchvision.models.get_model(name, weights=None, num_classes=10)
        # The multiscale transformers fix the clip's shape in their positions.
        shape = (16, 224, 224) if name.startswith("mvit") or name == "s3d" else (8, 32, 32)
        batch = 1 if shape[0] == 16 else 2
        return Example(model, {"clips": torch.randn(batch * 5, 3, *shape)}, batch=batch)

    return build


def detection_model(name):
    """Backbone and dense head: what is left out chooses boxes by their values."""

    def build():
        import torch
        import torchvision
        from torch import nn

        class Dense(nn.Module):
            def __init__(self, whole):
                super().__init__()
                self.backbone = whole.backbone
                self.head = whole.rpn.head if hasattr(whole, "rpn") else whole.head

            def forward(self, images):
                features = list(self.backbone(images).values())
                results = self.head(features)
                results = results.values() if isinstance(results, dict) else results
                flat = [r.flatten(1) for result in results for r in (result if isinstance(result, list) else [result])]
                return torch.cat(flat, 1)

        whole = torchvision.models.get_model(name, weights=None, weights_backbone=None)
        size = 300 if name.startswith("ssd300") else 128
        return Example(Dense(whole), images(size, batch=2), "mse", batch=2)

    return build


def timm_model(entry):
    name, size = split(entry, 64)

    def build():
        import timm

        # Only families that fix the size in their weights take it.
        try:
            model = timm.create_model(name, num_classes=10, img_size=size)
        except TypeError:
            model = timm.create_model(name, num_classes=10)
        return Example(model, images(size, channels=model.pretrained_cfg.get("input_size", (3,))[0]))

    return build


def models():
    for entry in TORCHVISION.split():
        yield Model(f"torchvision/{entry.partition('@')[0]}", "torchvision classification", torchvision_model(entry))
    for name in SEGMENTATION.split():
        yield Model(f"torchvision/{name}", "torchvision segmentation", segmentation_model(name))
    for name in VIDEO.split():
        note = (
            "3-D convolutions round twice as much as PyTorch's, in either order of channels" if name == "r3d_18" else ""
        )
        yield Model(f"torchvision/{name}", "torchvision video", video_model(name), note=note)
    for name in DETECTION.split():
        yield Model(f"torchvision/{name}", "torchvision detection", detection_model(name))
    for entry in TIMM.split():
        yield Model(f"timm/{entry.partition('@')[0]}", "timm", timm_model(entry))
    for entry in ("resnet18", "mobilenet_v2", "squeezenet1_1", "mnasnet0_5"):
        yield Model(
            f"torchvision/{entry}-torchscript", "torchscript exporter", torchvision_model(entry), exporter="torchscript"
        )
